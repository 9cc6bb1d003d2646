/**
 * Bun's own sockets: half the work per chunk of its node:net, for that is built of JavaScript streams on top of them.
 *
 * @module
 */
import { Connection } from "./connection.ts";
import { tcpPeer, unixPeer } from "./peer.ts";
import type { ByteSocket, Place } from "./socket.ts";

/** The parts of Bun's sockets used here; `@types/bun` cannot be seen by `deno check`. */
export interface BunSocket {
  data: BunConnection;
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localAddress: string;
  readonly localPort: number;
  /** -1 when it is closed. */
  readonly fd: number;
  /** Returns how many bytes the system took, or -1. */
  write(bytes: Uint8Array): number;
  shutdown(): void;
  /** Closes at once, without resetting the connection as `terminate` does. */
  close(): void;
  pause(): void;
  resume(): void;
  setNoDelay(on: boolean): boolean;
  setKeepAlive(on: boolean, delayMs: number): boolean;
}

interface BunListener {
  readonly port: number;
  stop(force?: boolean): void;
}

interface BunLike {
  connect(options: Record<string, unknown>): Promise<BunSocket>;
  listen(options: Record<string, unknown>): BunListener;
}

const bun = (): BunLike => (globalThis as unknown as { Bun: BunLike }).Bun;

/** A connection on a socket of Bun's. */
export class BunConnection extends Connection {
  readonly encrypted: boolean = false;
  readonly secure: boolean;
  #socket: BunSocket | undefined;
  #address: string | undefined;
  /** What the system did not take yet, in order. */
  #backlog: Uint8Array[] = [];
  #queued = 0;
  #finishing = false;

  constructor(unix: boolean) {
    super();
    this.secure = unix;
  }

  get remoteAddress(): string {
    return this.#address ??= this.secure ? "" : this.#socket?.remoteAddress ?? "";
  }

  protected override findPeer(candidates: Iterable<number>): number | undefined {
    const socket = this.#socket;
    if (socket === undefined) return undefined;
    return this.secure ? unixPeer(socket.fd) : tcpPeer(socket, candidates);
  }

  /** Called once, when the socket is open. The system probes the peer after so much time; never when it is 0. */
  opened(socket: BunSocket, keepAliveMs: number): void {
    this.#socket = socket;
    // Bun sets TCP_NODELAY itself.
    if (!this.secure && keepAliveMs > 0) socket.setKeepAlive(true, keepAliveMs);
  }

  protected queued(): number {
    return this.#queued;
  }

  protected send(bytes: Uint8Array): void {
    if (this.#queued > 0) {
      this.#backlog.push(bytes);
      this.#queued += bytes.length;
      return;
    }
    const taken = Math.max(0, this.#socket!.write(bytes));
    if (taken === bytes.length) return;
    this.#backlog.push(taken === 0 ? bytes : bytes.subarray(taken));
    this.#queued = bytes.length - taken;
  }

  /** The system takes bytes again. */
  writable(): void {
    const backlog = this.#backlog;
    let gone = 0;
    while (gone < backlog.length) {
      const bytes = backlog[gone]!;
      const taken = Math.max(0, this.#socket!.write(bytes));
      this.#queued -= taken;
      if (taken < bytes.length) {
        backlog[gone] = bytes.subarray(taken);
        break;
      }
      gone++;
    }
    backlog.splice(0, gone);
    if (backlog.length > 0) return;
    if (this.#finishing) this.finish();
    else this.drained();
  }

  protected finish(): void {
    this.#finishing = this.#queued > 0;
    if (this.#finishing) return;
    this.#socket!.shutdown();
    this.finished();
  }

  protected abort(): void {
    this.#socket?.close();
  }

  protected stopReading(): void {
    this.#socket?.pause();
  }

  protected startReading(): void {
    this.#socket?.resume();
  }

  /** What Bun calls. */
  static readonly callbacks = {
    data: (socket: BunSocket, chunk: Uint8Array): void => socket.data.received(chunk),
    drain: (socket: BunSocket): void => socket.data.writable(),
    end: (socket: BunSocket): void => socket.data.peerEnded(),
    close: (socket: BunSocket, error?: Error): void => socket.data.closed(error),
    error: (socket: BunSocket, error: Error): void => socket.data.closed(error),
  };
}

const { callbacks } = BunConnection;

/**
 * Dials one address. Bun cannot take back a dial: one that was given up is closed when it opens, or when the system gives it
 * up too.
 */
export async function dialBun(place: Place, keepAliveMs: number, signal: AbortSignal): Promise<ByteSocket> {
  const connection = new BunConnection(place.kind === "unix");
  const dial = bun().connect({
    ...(place.kind === "unix" ? { unix: place.path } : { hostname: place.host, port: place.port }),
    allowHalfOpen: true,
    data: connection,
    socket: {
      ...callbacks,
      open: (socket: BunSocket) => {
        connection.opened(socket, keepAliveMs);
        if (signal.aborted) connection.destroy();
      },
      connectError: () => {},
    },
  });
  const { promise: given, reject } = Promise.withResolvers<never>();
  const giveUp = () => reject(signal.reason);
  signal.addEventListener("abort", giveUp);
  try {
    await Promise.race([dial, given]);
  } finally {
    signal.removeEventListener("abort", giveUp);
    given.catch(() => {});
    dial.catch(() => {});
  }
  return connection;
}

/** Listens; throws what the system says. */
export function listenBun(
  place: Place,
  keepAliveMs: number,
  reusePort: boolean,
  onConnection: (socket: ByteSocket) => void,
): { readonly port: number; stop(): void } {
  const unix = place.kind === "unix";
  const listener = bun().listen({
    ...(unix ? { unix: place.path } : { hostname: place.host, port: place.port }),
    allowHalfOpen: true,
    exclusive: !reusePort,
    reusePort,
    socket: {
      ...callbacks,
      open: (socket: BunSocket) => {
        const connection = new BunConnection(unix);
        socket.data = connection;
        connection.opened(socket, keepAliveMs);
        onConnection(connection);
      },
    },
  });
  return { port: unix ? 0 : listener.port, stop: () => listener.stop() };
}
