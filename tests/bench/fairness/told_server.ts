import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface ToldServer {
  readonly port: number;
  readonly served: () => number;
  close(): Promise<void>;
}

export interface Behaviour {
  readonly slots: number;
  readonly serviceMs: number;
  /** Whom a free slot takes of those in line, oldest first. */
  readonly next?: (line: number) => number;
  /** The status of the n-th answer. */
  readonly status?: (n: number) => number;
}

/** A server with a line and slots, whose pages tell themselves as those of the bench do. */
export async function toldServer({ slots, serviceMs, next, status }: Behaviour): Promise<ToldServer> {
  const line: ServerResponse[] = [];
  const free = Array.from({ length: slots }, (_, i) => i + 1);
  let served = 0;
  const serve = () => {
    while (free.length > 0 && line.length > 0) {
      const [response] = line.splice(next?.(line.length) ?? 0, 1);
      const slot = free.shift()!, start = performance.now();
      setTimeout(() => {
        free.push(slot);
        response!.statusCode = status?.(served) ?? 200;
        served++;
        response!.end(`${slot} ${start.toFixed(4)} ${performance.now().toFixed(4)}\n`);
        serve();
      }, serviceMs);
    }
  };
  const server = createServer((_request, response) => {
    line.push(response);
    serve();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    port: (server.address() as AddressInfo).port,
    served: () => served,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}
