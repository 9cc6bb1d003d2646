import { Connection } from "../../plugins/dbproxy/net/connection.ts";
import type { ByteSocket } from "../../plugins/dbproxy/net/socket.ts";

/** Cuts what is written on one side into the chunks that arrive on the other. */
export type Chunking = (bytes: Uint8Array) => readonly Uint8Array[];

export interface PairOptions {
  /** As it was written, when absent. */
  readonly chunking?: Chunking;
  /** Default true, as within one process. */
  readonly secure?: boolean;
}

/** Chunks of at most `size` bytes. */
export function everyBytes(size: number): Chunking {
  return (bytes) => Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.slice(i * size, (i + 1) * size));
}

/** Two connected sockets in memory: each chunk arrives in a turn of its own. */
export function pair(options: PairOptions = {}): [ByteSocket, ByteSocket] {
  const a = new MemoryConnection(options);
  const b = new MemoryConnection(options);
  a.peer = b;
  b.peer = a;
  return [a, b];
}

class MemoryConnection extends Connection {
  readonly remoteAddress = "";
  readonly encrypted = false;
  readonly secure: boolean;
  peer: MemoryConnection | undefined;
  readonly #chunking: Chunking;
  /** Sent by the peer and not yet read; `fin` ends it. */
  readonly #inbox: (Uint8Array | "fin")[] = [];
  #inboxBytes = 0;
  #reading = true;
  #scheduled = false;

  constructor({ chunking = (bytes) => [bytes.slice()], secure = true }: PairOptions) {
    super();
    this.secure = secure;
    this.#chunking = chunking;
  }

  protected queued(): number {
    return this.peer === undefined ? 0 : this.peer.#inboxBytes;
  }

  protected send(bytes: Uint8Array): void {
    for (const chunk of this.#chunking(bytes)) this.peer!.#take(chunk);
  }

  #take(chunk: Uint8Array | "fin"): void {
    this.#inbox.push(chunk);
    if (chunk !== "fin") this.#inboxBytes += chunk.length;
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || !this.#reading || this.#inbox.length === 0) return;
    this.#scheduled = true;
    setTimeout(() => {
      this.#scheduled = false;
      if (!this.#reading) return;
      const chunk = this.#inbox.shift();
      if (chunk === "fin") return this.peerEnded();
      if (chunk === undefined) return;
      this.#inboxBytes -= chunk.length;
      this.received(chunk);
      if (this.#inboxBytes === 0) this.peer!.drained();
      this.#schedule();
    }, 0);
  }

  protected finish(): void {
    this.peer!.#take("fin");
    this.finished();
  }

  protected abort(): void {
    this.#reading = false;
    this.#inbox.length = 0;
    this.#inboxBytes = 0;
    this.peer!.#take("fin");
  }

  protected stopReading(): void {
    this.#reading = false;
  }

  protected startReading(): void {
    this.#reading = true;
    this.#schedule();
  }
}
