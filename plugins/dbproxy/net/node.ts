import { createServer, type NetConnectOpts, type Server, Socket } from "node:net";
import { Connection } from "./connection.ts";
import { tcpPeer, unixPeer } from "./peer.ts";
import type { ByteSocket, Place } from "./socket.ts";

/** A connection on a socket of node:net or node:tls. */
export class NodeConnection extends Connection {
  readonly remoteAddress: string;
  readonly encrypted: boolean;
  readonly secure: boolean;
  protected readonly socket: Socket;

  constructor(
    socket: Socket,
    kind: { readonly encrypted: boolean; readonly secure: boolean; readonly address?: string },
  ) {
    super();
    this.socket = socket;
    this.encrypted = kind.encrypted;
    this.secure = kind.secure;
    this.remoteAddress = kind.address ?? socket.remoteAddress ?? "";
    socket.on("data", (chunk: Uint8Array) => this.received(chunk));
    socket.on("end", () => this.peerEnded());
    socket.on("error", (error: Error) => this.closed(error));
    socket.on("close", () => this.closed(undefined));
  }

  protected override findPeer(candidates: Iterable<number>): number | undefined {
    // No public property has the descriptor.
    const { _handle: handle } = this.socket as unknown as { readonly _handle?: { readonly fd?: number } | null };
    return this.secure ? unixPeer(handle?.fd) : tcpPeer(this.socket, candidates);
  }

  protected queued(): number {
    return this.socket.writableLength;
  }

  /** The stream says "drain" only after a write that filled it. */
  protected send(bytes: Uint8Array): void {
    this.socket.write(bytes, this.#sent);
  }

  readonly #sent = (): void => this.drained();

  protected finish(): void {
    this.socket.end(() => this.finished());
  }

  protected abort(): void {
    this.socket.destroy();
  }

  protected stopReading(): void {
    this.socket.pause();
  }

  protected startReading(): void {
    this.socket.resume();
  }
}

/** Dials one address. */
export function dialNode(place: Place, keepAliveMs: number, signal: AbortSignal): Promise<ByteSocket> {
  return new Promise((resolve, reject) => {
    const socket = new Socket({ allowHalfOpen: true });
    const unix = place.kind === "unix";
    const giveUp = () => {
      socket.destroy();
      reject(signal.reason);
    };
    signal.addEventListener("abort", giveUp, { once: true });
    socket.once("error", reject);
    socket.once("connect", () => {
      signal.removeEventListener("abort", giveUp);
      socket.removeListener("error", reject);
      if (!unix) prepare(socket, keepAliveMs);
      resolve(new NodeConnection(socket, { encrypted: false, secure: unix }));
    });
    const at: NetConnectOpts = unix ? { path: place.path } : { host: place.host, port: place.port };
    socket.connect(at);
  });
}

function prepare(socket: Socket, keepAliveMs: number): void {
  socket.setNoDelay(true);
  if (keepAliveMs > 0) socket.setKeepAlive(true, keepAliveMs);
}

/** Listens; rejects with what the system says. */
export async function listenNode(
  place: Place,
  keepAliveMs: number,
  backlog: number,
  reusePort: boolean,
  onConnection: (socket: ByteSocket) => void,
): Promise<{ readonly port: number; stop(): void }> {
  const unix = place.kind === "unix";
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    if (!unix) prepare(socket, keepAliveMs);
    onConnection(new NodeConnection(socket, { encrypted: false, secure: unix }));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(
      unix
        ? { path: place.path, backlog }
        : { host: place.host, port: place.port, backlog, exclusive: true, reusePort },
      resolve,
    );
  });
  const address = server.address();
  return { port: typeof address === "object" && address !== null ? address.port : 0, stop: () => void server.close() };
}
