import { CoreError } from "../../../core/error.ts";
import { ChunkQueue } from "./chunk_queue.ts";
import { maxFrame, PacketReader } from "./frame.ts";
import { FrameWalk } from "./frame_walk.ts";

/** Who takes a client's commands. `frames` are bytes as they came, headers included, to be forwarded untouched. */
export interface CommandSink {
  /**
   * A command begins. `whole`: all of it is in `frames`; else it has only its beginning there and `onMore` brings the rest.
   * `command` is its first byte, -1 for an empty packet. Nothing of the next command comes before `next()`.
   */
  onCommand(command: number, frames: Uint8Array, whole: boolean): void;
  /** More of a command that was not whole, cut anywhere, even within a header; `last`: it is complete. */
  onMore(frames: Uint8Array, last: boolean): void;
  /** What came is no command stream (`DB_SEQUENCE`, `DB_PACKET_TOO_LARGE`); nothing else comes any more. */
  onProblem(error: CoreError): void;
}

export interface CommandReaderOptions {
  /** Bytes of a command that are gathered before it is handed on in parts. Default 65536. */
  readonly headLimit?: number;
  /** The longest command, bytes of payload. Default 1 GiB, the most that servers can be set to. */
  readonly maxPacket?: number;
}

/** Bytes of one packet of a dialogue; those of the known authentication plugins are far smaller. */
const maxDialoguePacket = 65536;

/**
 * Cuts the bytes of a client that is logged in into commands, one at a time. A command that came in one chunk is handed on
 * as a view of it; nothing is copied.
 *
 * After a command everything is held back until `next()`. A command that has not come whole is gathered up to `headLimit`,
 * then handed on in parts as they come (unless on `hold`).
 */
export class CommandReader {
  readonly #sink: CommandSink;
  readonly #headLimit: number;
  readonly #maxPacket: number;
  readonly #queue = new ChunkQueue();
  readonly #walk = new FrameWalk();
  #ready = true;
  #holding = false;
  #dead = false;
  #draining = false;
  /** Part of a command was walked over, and its end was not reached. */
  #within = false;
  /** Of the command `#within`, its head was handed on. */
  #started = false;
  /** The beginning of a command whose head is not handed on yet: `#gathered` bytes of this. */
  #head: Uint8Array | undefined;
  #gathered = 0;
  #packets: PacketReader | undefined;
  #file: ((frames: Uint8Array, last: boolean) => void) | undefined;
  /** Part of a packet of the file was walked over, and its end was not reached. */
  #inFile = false;

  constructor(sink: CommandSink, options: CommandReaderOptions = {}) {
    this.#sink = sink;
    this.#headLimit = options.headLimit ?? 65536;
    this.#maxPacket = options.maxPacket ?? 0x40000000;
  }

  /** Bytes that came and wait for `next()` or `release()`. */
  get held(): number {
    return this.#queue.length;
  }

  /** Takes a chunk and keeps it. */
  push(chunk: Uint8Array): void {
    if (this.#dead) return;
    this.#queue.push(chunk);
    this.#drain();
  }

  /** The session is ready for the next command. May be called from within `onCommand`. */
  next(): void {
    this.#ready = true;
    this.#drain();
  }

  /** Delivers nothing, not even `onMore`, until `release()`: where the bytes go to is congested or not there yet. */
  hold(): void {
    this.#holding = true;
  }

  release(): void {
    this.#holding = false;
    this.#drain();
  }

  /**
   * What follows the present command are packets and not commands (a dialogue of COM_CHANGE_USER), until `onPacket`
   * returns false; then commands come again, after `next()`. A CoreError thrown by it comes back as `onProblem`.
   */
  takePackets(onPacket: (payload: Uint8Array, seq: number) => boolean | void): void {
    this.#packets = new PacketReader(Math.min(maxDialoguePacket, this.#maxPacket), onPacket);
    this.#drain();
  }

  /** What follows are the packets of a file (LOCAL INFILE), up to and with the empty one; then commands, after `next()`. */
  infile(onData: (frames: Uint8Array, last: boolean) => void): void {
    this.#file = onData;
    this.#drain();
  }

  #drain(): void {
    if (this.#draining) return;
    this.#draining = true;
    try {
      while (this.#queue.settle() && !this.#holding && this.#step(this.#queue.chunk!, this.#queue.at));
    } finally {
      this.#draining = false;
    }
  }

  /** Reads on in the chunk. False when it must wait. */
  #step(chunk: Uint8Array, at: number): boolean {
    if (this.#within) return this.#walkOn(chunk, at);
    if (this.#packets !== undefined) return this.#dialogue(this.#packets, chunk, at);
    if (this.#file !== undefined) return this.#fileData(this.#file, chunk, at);
    if (!this.#ready) return false;
    if (chunk.length - at > 4) {
      const length = chunk[at]! | chunk[at + 1]! << 8 | chunk[at + 2]! << 16;
      const end = at + 4 + length;
      if (end <= chunk.length && length > 0 && length < maxFrame && chunk[at + 3] === 0 && length <= this.#maxPacket) {
        this.#queue.at = end;
        this.#ready = false;
        this.#sink.onCommand(chunk[at + 4]!, at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end), true);
        return true;
      }
    }
    this.#walk.begin(0, this.#maxPacket);
    this.#within = true;
    this.#started = false;
    return this.#walkOn(chunk, at);
  }

  #walkOn(chunk: Uint8Array, at: number): boolean {
    const walk = this.#walk;
    let end: number;
    try {
      end = walk.walk(chunk, at);
    } catch (error) {
      return this.#fail(error);
    }
    this.#queue.at = end;
    const part = at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end);
    const last = walk.done;
    if (last) this.#within = false;
    if (this.#started) {
      this.#sink.onMore(part, last);
      return true;
    }
    if (!last && (walk.first === -2 || this.#gathered + part.length < this.#headLimit)) {
      this.#gather(part);
      return true;
    }
    let frames = part;
    if (this.#head !== undefined) {
      this.#gather(part);
      frames = this.#head.subarray(0, this.#gathered);
      this.#head = undefined;
      this.#gathered = 0;
    }
    this.#started = true;
    this.#ready = false;
    this.#sink.onCommand(walk.first, frames, last);
    return true;
  }

  #gather(part: Uint8Array): void {
    const end = this.#gathered + part.length;
    if (this.#head === undefined || end > this.#head.length) {
      const whole = Math.min(this.#walk.total + 4, this.#headLimit);
      const grown = new Uint8Array(Math.max(end, whole));
      if (this.#head !== undefined) grown.set(this.#head.subarray(0, this.#gathered));
      this.#head = grown;
    }
    this.#head.set(part, this.#gathered);
    this.#gathered = end;
  }

  #dialogue(packets: PacketReader, chunk: Uint8Array, at: number): boolean {
    this.#queue.at = chunk.length;
    let rest: Uint8Array | undefined;
    try {
      rest = packets.push(at === 0 ? chunk : chunk.subarray(at));
    } catch (error) {
      return this.#fail(error);
    }
    if (rest === undefined) return true;
    this.#queue.at = chunk.length - rest.length;
    if (this.#packets === packets) this.#packets = undefined;
    return true;
  }

  #fileData(onData: (frames: Uint8Array, last: boolean) => void, chunk: Uint8Array, at: number): boolean {
    const walk = this.#walk;
    let end = at, last = false;
    try {
      while (end < chunk.length && !last) {
        if (!this.#inFile) walk.begin(-1, Infinity);
        end = walk.walk(chunk, end);
        this.#inFile = !walk.done;
        last = walk.done && walk.total === 0;
      }
    } catch (error) {
      return this.#fail(error);
    }
    this.#queue.at = end;
    if (last) this.#file = undefined;
    onData(at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end), last);
    return true;
  }

  #fail(error: unknown): false {
    if (!(error instanceof CoreError)) throw error;
    this.#dead = true;
    this.#queue.clear();
    this.#head = undefined;
    this.#sink.onProblem(error);
    return false;
  }
}
