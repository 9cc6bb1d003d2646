import { broken, headerBytes, longestFromServer, type OnFrame } from "./frame.ts";

/** What a frame says, where it was received: nothing is made for it. Places are counted from its beginning. */
export class Payload {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;
  length = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Begins at the byte `at` of what was received. */
  move(at: number, length: number): this {
    this.#at = at;
    this.length = length;
    return this;
  }

  u8(at: number): number {
    return this.#bytes[this.#at + at]!;
  }

  u32(at: number): number {
    return this.#view.getUint32(this.#at + at, true);
  }

  f64(at: number): number {
    return this.#view.getFloat64(this.#at + at, true);
  }

  /** The bytes from `at` on, as they are until the next frame. */
  tail(at: number): Uint8Array {
    return this.#bytes.subarray(this.#at + at, this.#at + this.length);
  }
}

/** Room for the longest frame and a few of the usual ones. */
const room = 2 * (headerBytes + longestFromServer);

/**
 * Cuts what arrives into frames. They are copied into bytes of its own, which are read in place: views of what the runtime hands out
 * would cost more than all that is done with a frame.
 */
export class FrameReader {
  readonly #longest: number;
  readonly #onFrame: OnFrame;
  readonly #bytes = new Uint8Array(room);
  readonly #view = new DataView(this.#bytes.buffer);
  readonly #payload = new Payload(this.#bytes);
  /** Bytes that are there and no whole frame. */
  #filled = 0;

  /** @param longest payload that is taken, in bytes; at most {@linkcode longestFromServer} */
  constructor(longest: number, onFrame: OnFrame) {
    this.#longest = longest;
    this.#onFrame = onFrame;
  }

  /**
   * Takes bytes, which must not change before it returns.
   *
   * @throws CoreError `BULKHEAD_PROTOCOL` as soon as a header shows that its frame is none; and what the callback throws. Then it is
   * not to be used any more.
   */
  push(chunk: Uint8Array): void {
    for (let taken = 0; taken < chunk.length;) {
      const next = Math.min(chunk.length, taken + room - this.#filled);
      this.#bytes.set(taken === 0 && next === chunk.length ? chunk : chunk.subarray(taken, next), this.#filled);
      this.#filled += next - taken;
      taken = next;
      this.#cut();
    }
  }

  #cut(): void {
    const filled = this.#filled, bytes = this.#bytes;
    let at = 0;
    while (filled - at >= headerBytes) {
      const length = this.#view.getUint16(at, true);
      if (length > this.#longest) throw broken(`Expected a frame of at most ${this.#longest} bytes, got ${length}`);
      if (bytes[at + 3] !== 0) throw broken("Expected the fourth byte of a frame to be 0");
      const end = at + headerBytes + length;
      if (filled < end) break;
      this.#onFrame(bytes[at + 2]!, this.#view.getUint32(at + 4, true), this.#payload.move(at + headerBytes, length));
      at = end;
    }
    if (at > 0 && at < filled) bytes.copyWithin(0, at, filled);
    this.#filled = filled - at;
  }
}
