/**
 * A listening unix socket, on the runtime's own sockets: Bun's node:net does twice the work for each chunk.
 *
 * @module
 */
import { chmodSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import type { Places } from "../../../core/contracts/places.ts";
import { OwnPlaces } from "../../../core/handover/places.ts";
import { giveToGroup } from "../../../core/socket_group.ts";

/** A connection. */
export interface Peer {
  readonly fd: number | undefined;
  /** Bytes that the system has not taken yet. */
  readonly pending: number;
  /** Writes now, or as soon as the system takes it. The bytes are the caller's again when it returns. */
  write(bytes: Uint8Array): void;
  /** Sends what waits and closes; at once when the peer has not closed its side in a second. */
  end(): void;
  /** Closes at once. */
  destroy(): void;
}

/** Who listens to a connection. */
export interface PeerHandler {
  /** The bytes are only there until it returns. */
  onData(chunk: Uint8Array): void;
  /** Once: the peer has closed it, or we have. */
  onClose(): void;
}

export interface SocketOptions {
  readonly path: string;
  readonly mode: number;
  readonly group: string | undefined;
  /** Where the name is taken; when absent it must be free. */
  readonly places?: Places | undefined;
}

export interface Listening {
  /** Stops accepting, and takes the name away. Connections live on. */
  close(): void;
}

/**
 * Listens. A socket of that name that nobody serves is replaced.
 *
 * @throws CoreError `ADDRESS_TAKEN`, `ADDRESS_DENIED`, `ADDRESS_FAILED`, `BULKHEAD_SOCKET_GROUP`
 */
export async function listen(options: SocketOptions, onOpen: (peer: Peer) => PeerHandler): Promise<Listening> {
  const { path, mode, group, places = new OwnPlaces() } = options;
  const { bound, leave } = await places.take(
    { kind: "unix", path },
    (at) => {
      const own = at.kind === "unix" ? at.path : path;
      return "Bun" in globalThis ? listenBun(own, onOpen) : listenNode(own, onOpen);
    },
    (at) => {
      chmodSync(at, mode);
      giveToGroup(at, group, "BULKHEAD_SOCKET_GROUP");
    },
  );
  let open = true;
  return {
    close() {
      if (!open) return;
      open = false;
      // The name first: once the listener is closed it may be a successor's.
      leave();
      bound.stop();
    },
  };
}

interface Stoppable {
  stop(): void;
}

/** How long (ms) a peer may take to read its last words and to close: what it sends until then nobody reads. */
const lingerMs = 1000;

/** The parts of Bun's sockets used here. */
interface BunSocket {
  data: BunPeer;
  readonly fd: number;
  /** Returns how many bytes the system took, or -1. */
  write(bytes: Uint8Array): number;
  end(): void;
  terminate(): void;
}

class BunPeer implements Peer {
  readonly #socket: BunSocket;
  #backlog: Uint8Array[] = [];
  #ending = false;
  #linger: ReturnType<typeof setTimeout> | undefined;
  pending = 0;
  handler: PeerHandler | undefined;

  constructor(socket: BunSocket) {
    this.#socket = socket;
  }

  get fd(): number {
    return this.#socket.fd;
  }

  write(bytes: Uint8Array): void {
    const taken = this.pending > 0 ? 0 : Math.max(0, this.#socket.write(bytes));
    if (taken === bytes.length) return;
    this.#backlog.push(bytes.slice(taken));
    this.pending += bytes.length - taken;
  }

  drain(): void {
    while (this.#backlog.length > 0) {
      const bytes = this.#backlog[0]!;
      const taken = Math.max(0, this.#socket.write(bytes));
      this.pending -= taken;
      if (taken < bytes.length) return void (this.#backlog[0] = bytes.subarray(taken));
      this.#backlog.shift();
    }
    if (this.#ending) this.#socket.end();
  }

  end(): void {
    this.#ending = true;
    this.#linger ??= setTimeout(() => this.destroy(), lingerMs);
    if (this.pending === 0) this.#socket.end();
  }

  destroy(): void {
    this.#socket.terminate();
  }

  closed(): void {
    clearTimeout(this.#linger);
    const { handler } = this;
    this.handler = undefined;
    handler?.onClose();
  }
}

function listenBun(path: string, onOpen: (peer: Peer) => PeerHandler): Stoppable {
  const { Bun } = globalThis as unknown as { Bun: { listen(options: unknown): { stop(): void } } };
  const listener = Bun.listen({
    unix: path,
    socket: {
      open(socket: BunSocket) {
        const peer = socket.data = new BunPeer(socket);
        peer.handler = onOpen(peer);
      },
      data: (socket: BunSocket, chunk: Uint8Array) => socket.data.handler?.onData(chunk),
      drain: (socket: BunSocket) => socket.data.drain(),
      close: (socket: BunSocket) => socket.data.closed(),
      error: (socket: BunSocket) => socket.data.closed(),
    },
  });
  return { stop: () => listener.stop() };
}

class NodePeer implements Peer {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  get fd(): number | undefined {
    // No public property has the descriptor.
    return (this.#socket as unknown as { readonly _handle?: { readonly fd?: number } | null })._handle?.fd;
  }

  get pending(): number {
    return this.#socket.writableLength;
  }

  write(bytes: Uint8Array): void {
    this.#socket.write(bytes.slice());
  }

  end(): void {
    const linger = setTimeout(() => this.destroy(), lingerMs);
    this.#socket.once("close", () => clearTimeout(linger)).end();
  }

  destroy(): void {
    this.#socket.destroy();
  }
}

async function listenNode(path: string, onOpen: (peer: Peer) => PeerHandler): Promise<Stoppable> {
  const server = createServer((socket) => {
    const handler = onOpen(new NodePeer(socket));
    socket.on("data", (chunk: Uint8Array) => handler.onData(chunk));
    socket.on("error", () => {});
    socket.on("close", () => handler.onClose());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen({ path, backlog: 511 }, resolve);
  });
  return { stop: () => void server.close() };
}
