/**
 * Cuts what a worker writes into frames. Pure: bytes in, calls out.
 *
 * @module
 */
import { CoreError } from "../../../core/error.ts";
import { CONTROL, crcOfSix, ERROR, HEADER, headerLength, MAX_OPTIONS, readWord } from "./frame.ts";
import { desync } from "./stray.ts";

/** What the header of a frame says. */
export interface FrameInfo {
  readonly flags: number;
  readonly stream: number;
  /** Bytes of payload. */
  readonly length: number;
  readonly options: readonly number[];
}

/** Receives what a {@linkcode FrameReader} finds: for each frame `onFrame`, any number of `onBody`, `onFrameEnd`. */
export interface FrameSink {
  /**
   * `head` is whole: of a control frame all of the payload, of an error nothing (its text is the body), of another frame as
   * many bytes as the first option says.
   */
  onFrame(frame: FrameInfo, head: Uint8Array): void;
  /** Some of the body, as it comes: a view of the chunk that was pushed. */
  onBody(bytes: Uint8Array): void;
  onFrameEnd(): void;
}

export interface FrameLimits {
  /** Bytes a payload may have; 2 GiB less one when absent. */
  readonly maxPayload?: number;
  /** Bytes a head or a control message may have; 1 MiB when absent. They are held in memory. */
  readonly maxHead?: number;
}

const empty = new Uint8Array(0);

/** Cuts a byte stream into frames. Bodies are handed on without a copy. */
export class FrameReader {
  readonly #sink: FrameSink;
  readonly #maxPayload: number;
  readonly #maxHead: number;
  readonly #held = new Uint8Array(headerLength(MAX_OPTIONS));
  #have = 0;
  /** Bytes the header being read has in all. */
  #need = HEADER;
  #frame: FrameInfo | undefined;
  /** Bytes of the head still to come, while it is not whole; else 0. */
  #headLeft = 0;
  #head: Uint8Array | undefined;
  #bodyLeft = 0;
  #broken: CoreError | undefined;
  #stray: Uint8Array = empty;

  constructor(sink: FrameSink, limits: FrameLimits = {}) {
    this.#sink = sink;
    this.#maxPayload = limits.maxPayload ?? 0x7fffffff;
    this.#maxHead = limits.maxHead ?? 1 << 20;
  }

  /** True when no frame has been begun. */
  get fresh(): boolean {
    return this.#frame === undefined && this.#have === 0;
  }

  /** After `push` has thrown: what came in place of a frame, as far as it has come. */
  get stray(): Uint8Array {
    return this.#stray;
  }

  /**
   * Takes the next bytes, cut anywhere.
   *
   * @throws CoreError (status 502) `PHP_GORIDGE_DESYNC` when they are no frame, `PHP_GORIDGE_TOO_LARGE` for a frame over the
   * limits; every later call throws it again. Whatever the sink throws passes through.
   */
  push(chunk: Uint8Array): void {
    if (this.#broken !== undefined) throw this.#broken;
    const end = chunk.byteLength;
    for (let at = 0; at < end;) {
      if (this.#frame === undefined) at = this.#readHeader(chunk, at);
      else if (this.#headLeft > 0) at = this.#readHead(chunk, at);
      else {
        const take = Math.min(this.#bodyLeft, end - at);
        this.#bodyLeft -= take;
        this.#sink.onBody(chunk.subarray(at, at + take));
        at += take;
        if (this.#bodyLeft === 0) this.#finish();
      }
    }
  }

  #readHeader(chunk: Uint8Array, at: number): number {
    // Most headers lie whole in their chunk.
    if (this.#have === 0) {
      const words = this.#words(chunk, at, chunk, at);
      const length = 4 * words;
      if (chunk.byteLength - at >= length) {
        this.#begin(chunk, at, words, chunk, at + length);
        return at + length;
      }
      this.#need = length;
    }
    const take = Math.min(this.#need - this.#have, chunk.byteLength - at);
    this.#held.set(chunk.subarray(at, at + take), this.#have);
    this.#have += take;
    at += take;
    if (this.#have === this.#need) this.#begin(this.#held, 0, this.#need / 4, chunk, at);
    return at;
  }

  /** The length of a header in words. `rest` is where the bytes behind those of the header are, for the error. */
  #words(from: Uint8Array, at: number, rest: Uint8Array, restAt: number): number {
    const first = from[at]!, words = first & 15;
    if (first >> 4 !== 1 || words < 3 || words > 3 + MAX_OPTIONS) this.#desync(from.subarray(at, at), rest, restAt);
    return words;
  }

  #begin(from: Uint8Array, at: number, words: number, rest: Uint8Array, restAt: number): void {
    if (readWord(from, at + 6) !== crcOfSix(from, at)) this.#desync(from.subarray(at, at + 4 * words), rest, restAt);
    const flags = from[at + 1]!, length = readWord(from, at + 2);
    const options: number[] = [];
    for (let i = 3; i < words; i++) options.push(readWord(from, at + 4 * i));
    const head = flags & CONTROL ? length : flags & ERROR ? 0 : options[0] ?? 0;
    if (head > length) this.#desync(from.subarray(at, at + 4 * words), rest, restAt);
    if (length > this.#maxPayload) this.#tooLarge("frame", length, this.#maxPayload);
    if (head > this.#maxHead) this.#tooLarge("head", head, this.#maxHead);
    this.#have = 0;
    this.#frame = { flags, stream: from[at + 10]!, length, options };
    this.#headLeft = head;
    this.#bodyLeft = length - head;
    if (head === 0) this.#announce(empty);
  }

  #readHead(chunk: Uint8Array, at: number): number {
    const take = Math.min(this.#headLeft, chunk.byteLength - at);
    const part = chunk.subarray(at, at + take);
    if (this.#head === undefined && take === this.#headLeft) {
      this.#headLeft = 0;
      this.#announce(part);
      return at + take;
    }
    this.#head ??= new Uint8Array(this.#headLeft);
    this.#head.set(part, this.#head.byteLength - this.#headLeft);
    this.#headLeft -= take;
    if (this.#headLeft === 0) {
      const head = this.#head;
      this.#head = undefined;
      this.#announce(head);
    }
    return at + take;
  }

  #announce(head: Uint8Array): void {
    this.#sink.onFrame(this.#frame!, head);
    if (this.#bodyLeft === 0) this.#finish();
  }

  #finish(): void {
    this.#frame = undefined;
    this.#sink.onFrameEnd();
  }

  #desync(header: Uint8Array, rest: Uint8Array, restAt: number): never {
    const stray = new Uint8Array(header.byteLength + rest.byteLength - restAt);
    stray.set(header);
    stray.set(rest.subarray(restAt), header.byteLength);
    this.#stray = stray;
    throw this.#broken = desync(stray);
  }

  #tooLarge(what: string, found: number, limit: number): never {
    throw this.#broken = new CoreError(
      "PHP_GORIDGE_TOO_LARGE",
      `Expected at most ${limit} bytes in the ${what} of a worker's answer, found ${found}`,
      { status: 502 },
    );
  }
}
