/**
 * A fetch handler behind the runtime's own server.
 *
 * @module
 */

type Handler = (request: Request) => Promise<Response>;

interface Runtimes {
  readonly Bun?: { serve(o: object): { readonly port: number; stop(now: boolean): Promise<void> } };
  readonly Deno?: {
    serve(o: object, handler: Handler): { readonly addr: { readonly port: number }; shutdown(): Promise<void> };
  };
}

export interface Served {
  readonly url: string;
  stop(): Promise<void>;
}

/** Serves on a free port of 127.0.0.1 with `Bun.serve` or `Deno.serve`. */
export function serveFetch(handler: Handler): Served {
  const { Bun, Deno } = globalThis as Runtimes;
  const at = { hostname: "127.0.0.1", port: 0 };
  if (Bun !== undefined) {
    const server = Bun.serve({ ...at, fetch: (request: Request) => handler(request) });
    return { url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) };
  }
  const server = Deno!.serve({ ...at, onListen() {} }, handler);
  return { url: `http://127.0.0.1:${server.addr.port}`, stop: () => server.shutdown() };
}
