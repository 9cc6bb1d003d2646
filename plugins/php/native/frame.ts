/**
 * The frame of the native worker protocol, as PROTOCOL.md tells it. Pure: bytes in, calls out.
 *
 * @module
 */
import { CoreError } from "../../../core/error.ts";

/** Frame types. */
export const HELLO = 1;
export const REQUEST = 2;
export const REPLY = 3;
export const EARLY = 4;
export const GONE = 5;
export const STOP = 6;
export const LEAVING = 7;
export const FORK = 8;
export const LOG = 9;
export const ENDED = 10;

/** Flags of a REPLY: the response is whole. */
export const LAST = 1;
/** The process can take the next request. */
export const READY = 2;
/** In place of LAST: the response breaks off here, and must not pass for whole. */
export const CUT = 4;

/** Bytes of a frame's header. */
export const HEADER = 12;
/** Bytes up to which a frame goes out in one write. */
export const ONE_WRITE: number = 64 * 1024;
/** The most payload (bytes) a frame has room for. */
export const MAX_PAYLOAD = 0x7fff_ffff;

/** Writes a header into `out` at `at`; returns the offset behind it. */
export function writeHeader(
  out: Uint8Array,
  at: number,
  length: number,
  type: number,
  flags: number,
  number: number,
): number {
  out[at] = length;
  out[at + 1] = length >>> 8;
  out[at + 2] = length >>> 16;
  out[at + 3] = length >>> 24;
  out[at + 4] = type;
  out[at + 5] = flags;
  out[at + 6] = 0;
  out[at + 7] = 0;
  out[at + 8] = number;
  out[at + 9] = number >>> 8;
  out[at + 10] = number >>> 16;
  out[at + 11] = number >>> 24;
  return at + HEADER;
}

const empty = new Uint8Array(0);

/** A whole frame of its own. `number` is that of the request it belongs to, 0 outside of one. */
export function encodeFrame(type: number, number = 0, payload: Uint8Array = empty, flags = 0): Uint8Array {
  const out = new Uint8Array(HEADER + payload.byteLength);
  writeHeader(out, 0, payload.byteLength, type, flags, number);
  out.set(payload, HEADER);
  return out;
}

/** Receives what a {@linkcode FrameReader} finds. An error thrown here passes through `push`. */
export interface FrameSink {
  /** A part of the payload of a REPLY, as it comes: a view of the chunk that was pushed, never empty. */
  onReply(number: number, bytes: Uint8Array): void;
  /** A frame is whole. The payload of a REPLY has been told by `onReply`; here it is empty. */
  onFrame(type: number, flags: number, number: number, payload: Uint8Array): void;
}

/** What PHP may send, and how much payload (bytes) each may have. */
export const FROM_PHP: ReadonlyMap<number, number> = new Map([
  [HELLO, 4096],
  [REPLY, MAX_PAYLOAD],
  [EARLY, 128 * 1024],
  [LEAVING, 0],
  [LOG, 1024 * 1024],
  [ENDED, 64 * 1024],
]);

/**
 * Cuts a byte stream into frames. The payload of a REPLY is handed on without a copy; all others are held back until they
 * are whole, never more of them than their type may have.
 */
export class FrameReader {
  readonly #sink: FrameSink;
  readonly #types: ReadonlyMap<number, number>;
  readonly #header = new Uint8Array(HEADER);
  #have = 0;
  #type = 0;
  #flags = 0;
  #number = 0;
  /** Bytes of the payload that are still to come; -1 between two frames. */
  #left = -1;
  #held: Uint8Array | undefined;
  #filled = 0;
  #broken: CoreError | undefined;

  /** @param types the types that may come, with the bytes of payload each may have; {@linkcode FROM_PHP} when absent */
  constructor(sink: FrameSink, types: ReadonlyMap<number, number> = FROM_PHP) {
    this.#sink = sink;
    this.#types = types;
  }

  /** True between two frames. */
  get fresh(): boolean {
    return this.#have === 0 && this.#left < 0;
  }

  /**
   * Takes the next bytes, cut anywhere.
   *
   * @throws CoreError `PHP_PROTOCOL` (status 502) when they are no frames; every later call throws it again.
   */
  push(chunk: Uint8Array): void {
    if (this.#broken !== undefined) throw this.#broken;
    const end = chunk.byteLength;
    let at = 0;
    while (at < end) {
      if (this.#left > 0) {
        const part = Math.min(this.#left, end - at);
        const bytes = part === end ? chunk : chunk.subarray(at, at + part);
        at += part;
        this.#deliver(bytes);
      } else if (this.#have === 0 && end - at >= HEADER) {
        this.#begin(chunk, at);
        at += HEADER;
      } else {
        this.#header[this.#have++] = chunk[at++]!;
        if (this.#have === HEADER) {
          this.#have = 0;
          this.#begin(this.#header, 0);
        }
      }
    }
  }

  #begin(from: Uint8Array, at: number): void {
    const length = (from[at]! | from[at + 1]! << 8 | from[at + 2]! << 16 | from[at + 3]! << 24) >>> 0;
    const type = from[at + 4]!;
    const flags = from[at + 5]!;
    const most = this.#types.get(type);
    if (most === undefined) this.#refuse(`one of type ${type}`);
    if (length > most) this.#refuse(`one of type ${type} with ${length} bytes`);
    if (flags > (type === REPLY ? LAST | READY | CUT : 0)) this.#refuse(`one of type ${type} with flags ${flags}`);
    if (from[at + 6] !== 0 || from[at + 7] !== 0) this.#refuse("one with bytes that must be zero and are not");
    this.#type = type;
    this.#flags = flags;
    this.#number = (from[at + 8]! | from[at + 9]! << 8 | from[at + 10]! << 16 | from[at + 11]! << 24) >>> 0;
    this.#left = length;
    if (length === 0) this.#finish(empty);
  }

  #deliver(bytes: Uint8Array): void {
    this.#left -= bytes.byteLength;
    if (this.#type === REPLY) {
      this.#sink.onReply(this.#number, bytes);
      if (this.#left === 0) this.#finish(empty);
      return;
    }
    if (this.#held === undefined && this.#left === 0) return this.#finish(bytes);
    this.#held ??= new Uint8Array(bytes.byteLength + this.#left);
    this.#held.set(bytes, this.#filled);
    this.#filled += bytes.byteLength;
    if (this.#left > 0) return;
    const whole = this.#held;
    this.#held = undefined;
    this.#filled = 0;
    this.#finish(whole);
  }

  #finish(payload: Uint8Array): void {
    this.#left = -1;
    this.#sink.onFrame(this.#type, this.#flags, this.#number, payload);
  }

  #refuse(found: string): never {
    this.#broken = malformed(found);
    throw this.#broken;
  }
}

/** What PHP sent is not the protocol. */
export function malformed(found: string): CoreError {
  return new CoreError("PHP_PROTOCOL", `Expected a frame of the native worker protocol from PHP, found ${found}`, {
    status: 502,
  });
}
