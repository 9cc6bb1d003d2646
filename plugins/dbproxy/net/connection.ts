import { concat } from "../wire/concat.ts";
import type { ByteSocket, SocketHandler } from "./socket.ts";

/** Bytes waiting at which `write` returns false. */
export const highWater = 262_144;
/** Bytes kept for a socket that has no handler yet; then reading stops until it has one. */
const earlyLimit = 1_048_576;
/** Chunks of one turn up to this length together are copied into one, for one system call. */
const joinLimit = 65_536;
/** How long a peer may take to close after our FIN, in ms. */
const lingerMs = 5000;

const nobody: SocketHandler = { onData() {}, onDrain() {}, onClose() {} };

/**
 * What all sockets share: chunks wait for the first handler, the writes of one turn go out together, and `onClose` comes
 * once. A subclass moves the bytes.
 *
 * The peer's FIN closes the connection, as it does in a MySQL server. After `end` what the peer still sends is read and
 * dropped, so that closing does not reset the connection under the last packet.
 */
export abstract class Connection implements ByteSocket {
  abstract readonly remoteAddress: string;
  abstract readonly encrypted: boolean;
  abstract readonly secure: boolean;

  #peer: number | undefined;
  #handler: SocketHandler = nobody;
  /** Chunks that came before the first handler, and those behind them; undefined when a chunk may go straight on. */
  #early: Uint8Array[] | undefined = [];
  #earlyBytes = 0;
  #delivering = false;
  #paused = false;
  #failure: Error | undefined;
  #over = false;
  #told = false;
  #linger: ReturnType<typeof setTimeout> | undefined;

  /** Written in this turn: the first chunk and those that follow it. */
  #first: Uint8Array | undefined;
  #rest: Uint8Array[] = [];
  #corked = 0;
  #flushing = false;
  #ending = false;
  #wantsDrain = false;

  peerPid(candidates: Iterable<number>): number | undefined {
    return this.#peer ??= this.findPeer(candidates);
  }

  /** As `peerPid`; what it finds is kept. */
  protected findPeer(_candidates: Iterable<number>): number | undefined {
    return undefined;
  }

  get handler(): SocketHandler {
    return this.#handler;
  }

  set handler(handler: SocketHandler) {
    this.#handler = handler;
    if (this.#early === undefined && !(this.#over && !this.#told)) return;
    if (this.#delivering || handler === nobody) return;
    this.#delivering = true;
    // Not at once: whoever sets itself as the handler may not be ready yet.
    queueMicrotask(() => this.#deliver());
  }

  #deliver(): void {
    this.#delivering = false;
    const early = this.#early;
    if (early !== undefined) {
      for (let chunk = early.shift(); chunk !== undefined && !this.#told; chunk = early.shift()) {
        this.#earlyBytes -= chunk.length;
        this.#handler.onData(chunk);
        if (this.#handler === nobody) return;
      }
      this.#early = undefined;
      if (this.#held) {
        this.#held = false;
        if (!this.#paused) this.startReading();
      }
    }
    if (this.#over) this.#tell();
  }

  #held = false;

  write(bytes: Uint8Array, now = false): boolean {
    if (this.#over || this.#ending || bytes.length === 0) return true;
    if (now && this.#first === undefined) {
      this.send(bytes);
      return this.#flows();
    }
    this.#corked += bytes.length;
    if (this.#first === undefined) this.#first = bytes;
    else this.#rest.push(bytes);
    if (now) this.#flush();
    else if (!this.#flushing) {
      this.#flushing = true;
      queueMicrotask(this.#flush);
    }
    return this.#flows();
  }

  /** Whether little enough waits for more to be written. */
  #flows(): boolean {
    if (this.#corked + this.queued() <= highWater) return true;
    this.#wantsDrain = true;
    return false;
  }

  readonly #flush = (): void => {
    this.#flushing = false;
    const first = this.#first;
    if (first === undefined || this.#over) return;
    const rest = this.#rest;
    const length = this.#corked;
    this.#first = undefined;
    this.#corked = 0;
    if (rest.length === 0) this.send(first);
    else {
      this.#rest = [];
      if (length <= joinLimit) this.send(concat([first, ...rest], length));
      else {
        this.send(first);
        for (const chunk of rest) this.send(chunk);
      }
    }
    // No drain follows what the system took at once.
    if (this.#wantsDrain && this.queued() === 0) this.drained();
  };

  get pending(): number {
    return this.#corked + this.queued();
  }

  flushed(): boolean {
    if (this.pending === 0) return true;
    this.#wantsDrain = true;
    return false;
  }

  pause(): void {
    if (this.#paused || this.#over || this.#ending) return;
    this.#paused = true;
    this.stopReading();
  }

  resume(): void {
    if (!this.#paused || this.#over) return;
    this.#paused = false;
    if (!this.#held) this.startReading();
  }

  end(): void {
    if (this.#over || this.#ending) return;
    this.#flush();
    this.#ending = true;
    if (this.#paused || this.#held) {
      this.#paused = this.#held = false;
      this.startReading();
    }
    this.finish();
  }

  /** FIN is on its way. */
  protected finished(): void {
    if (!this.#over) this.#linger ??= setTimeout(() => this.destroy(), lingerMs);
  }

  destroy(): void {
    if (this.#over) return;
    this.abort();
    this.closed(undefined);
  }

  /** A subclass received a chunk. */
  protected received(chunk: Uint8Array): void {
    if (this.#ending || this.#over) return;
    if (this.#early === undefined) return this.#handler.onData(chunk);
    this.#early.push(chunk);
    this.#earlyBytes += chunk.length;
    if (this.#earlyBytes > earlyLimit && !this.#held) {
      this.#held = true;
      this.stopReading();
    }
  }

  /** All that was sent has been taken by the system. */
  protected drained(): void {
    if (this.#over || this.#ending) return;
    if (!this.#wantsDrain || this.pending > 0) return;
    this.#wantsDrain = false;
    this.#handler.onDrain();
  }

  /** The peer sent FIN. */
  protected peerEnded(): void {
    if (this.#over) return;
    this.#flush();
    if (this.#over) return;
    if (this.queued() === 0) this.finish();
    else this.abort();
    this.closed(undefined);
  }

  /** The connection is no more. */
  protected closed(error: Error | undefined): void {
    if (this.#over) return;
    this.#over = true;
    this.#failure = error;
    clearTimeout(this.#linger);
    this.#first = undefined;
    this.#rest = [];
    this.#corked = 0;
    // Behind the chunks that still wait, and never while the caller of `destroy` is at work.
    if (this.#delivering || (this.#early !== undefined && this.#handler === nobody)) return;
    this.#delivering = true;
    queueMicrotask(() => this.#deliver());
  }

  #tell(): void {
    if (this.#told || this.#handler === nobody) return;
    this.#told = true;
    this.#handler.onClose(this.#failure);
  }

  /** Bytes given to `send` and not yet taken by the system. */
  protected abstract queued(): number;
  /** Sends a chunk after those before it; `drained` follows when all of it, and it was not taken at once, is taken. */
  protected abstract send(bytes: Uint8Array): void;
  /** Sends FIN behind all that is queued, and calls `finished` then. */
  protected abstract finish(): void;
  protected abstract abort(): void;
  protected abstract stopReading(): void;
  protected abstract startReading(): void;
}
