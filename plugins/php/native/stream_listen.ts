/**
 * A listening unix socket, on the runtime's own sockets: Bun's node:net, built of JavaScript streams on top of them, does half as
 * much again for each chunk.
 *
 * @module
 */
import { createServer } from "node:net";
import type { FcgiSocket } from "../fastcgi/socket.ts";

/** A connection. Of each event the listener that was added last is called, on Node's sockets those before it as well. */
export interface StreamSocket extends FcgiSocket {
  off(event: "data", listener: (chunk: Uint8Array) => void): unknown;
  off(event: "end" | "close", listener: () => void): unknown;
}

export interface StreamListener {
  /** Stops accepting. Connections live on. */
  close(): void;
}

/** Listens; throws what the system says. */
export function listenForStreams(path: string, onSocket: (socket: StreamSocket) => void): Promise<StreamListener> {
  return "Bun" in globalThis ? Promise.resolve().then(() => listenBun(path, onSocket)) : listenNode(path, onSocket);
}

async function listenNode(path: string, onSocket: (socket: StreamSocket) => void): Promise<StreamListener> {
  const server = createServer((socket) => onSocket(socket));
  await new Promise<void>((done, fail) => {
    server.once("error", fail);
    server.listen(path, done);
  });
  // Later failures (no descriptor left for a connection) concern that connection.
  server.on("error", () => {});
  return server;
}

/** The parts of Bun's sockets used here. */
interface BunSocket {
  data: BunStream;
  /** Returns how many bytes the system took, or -1. */
  write(bytes: Uint8Array): number;
  close(): void;
  pause(): void;
  resume(): void;
}

type Listeners = {
  data?: ((chunk: Uint8Array) => void) | undefined;
  drain?: (() => void) | undefined;
  end?: (() => void) | undefined;
  close?: (() => void) | undefined;
  error?: ((error: Error) => void) | undefined;
};

class BunStream implements StreamSocket {
  readonly #socket: BunSocket;
  readonly #on: Listeners = {};
  /** What the system did not take yet, in order. */
  readonly #backlog: Uint8Array[] = [];
  #open = true;

  constructor(socket: BunSocket) {
    this.#socket = socket;
  }

  on(event: keyof Listeners, listener: (...args: never[]) => void): this {
    this.#on[event] = listener as () => void;
    return this;
  }

  off(event: keyof Listeners, listener: (...args: never[]) => void): this {
    if (this.#on[event] === (listener as () => void)) this.#on[event] = undefined;
    return this;
  }

  write(bytes: Uint8Array): boolean {
    if (!this.#open) return false;
    if (this.#backlog.length > 0) return this.#keep(bytes);
    const taken = Math.max(0, this.#socket.write(bytes));
    return taken === bytes.byteLength || this.#keep(taken === 0 ? bytes : bytes.subarray(taken));
  }

  pause(): void {
    if (this.#open) this.#socket.pause();
  }

  resume(): void {
    if (this.#open) this.#socket.resume();
  }

  destroy(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#socket.close();
    // As on Node's sockets: whoever waits for its end hears of it, but not within this call.
    queueMicrotask(() => this.#on.close?.());
  }

  #keep(bytes: Uint8Array): false {
    this.#backlog.push(bytes);
    return false;
  }

  #drain(): void {
    const backlog = this.#backlog;
    while (backlog.length > 0) {
      const bytes = backlog[0]!;
      const taken = Math.max(0, this.#socket.write(bytes));
      if (taken < bytes.byteLength) return void (backlog[0] = bytes.subarray(taken));
      backlog.shift();
    }
    this.#on.drain?.();
  }

  #closed(): void {
    const told = this.#open;
    this.#open = false;
    if (told) this.#on.close?.();
  }

  /** What Bun calls. */
  static readonly callbacks = {
    data: ({ data }: BunSocket, chunk: Uint8Array): void => void (data.#open && data.#on.data?.(chunk)),
    drain: ({ data }: BunSocket): void => data.#drain(),
    end: ({ data }: BunSocket): void => void (data.#open && data.#on.end?.()),
    close: ({ data }: BunSocket): void => data.#closed(),
    error: ({ data }: BunSocket, error: Error): void => void (data.#open && data.#on.error?.(error)),
  };
}

function listenBun(path: string, onSocket: (socket: StreamSocket) => void): StreamListener {
  const { Bun } = globalThis as unknown as { Bun: { listen(options: unknown): { stop(): void } } };
  const listener = Bun.listen({
    unix: path,
    socket: {
      ...BunStream.callbacks,
      open: (socket: BunSocket) => onSocket(socket.data = new BunStream(socket)),
    },
  });
  return { close: () => listener.stop() };
}
