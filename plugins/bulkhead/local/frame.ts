/**
 * Frames of the bulkheads' socket, as PROTOCOL.md has them.
 *
 * @module
 */
import { CoreError } from "../../../core/error.ts";

export const headerBytes = 8;
/** Longest payload of a frame to the server, and of one from it. */
export const longestToServer = 320, longestFromServer = 600;

/** Types of frames. */
export const op = {
  hello: 1,
  acquire: 2,
  release: 3,
  cancel: 4,
  counts: 5,
  resize: 6,
  welcome: 65,
  grant: 66,
  deny: 67,
  counted: 68,
  lost: 69,
  fault: 70,
  released: 71,
} as const;

/** What the other side sent makes no sense. */
export function broken(text: string): CoreError {
  return new CoreError("BULKHEAD_PROTOCOL", text);
}

/** Called for each frame; `payload` is only there until it returns. */
export type OnFrame = (type: number, number: number, payload: DataView) => void;

/** Cuts what arrives into frames, and keeps at most one that is not whole. */
export class FrameReader {
  readonly #longest: number;
  readonly #onFrame: OnFrame;
  #rest: Uint8Array | undefined;

  /** @param longest payload that is taken, in bytes */
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
    let bytes = chunk;
    if (this.#rest !== undefined) {
      bytes = new Uint8Array(this.#rest.length + chunk.length);
      bytes.set(this.#rest);
      bytes.set(chunk, this.#rest.length);
      this.#rest = undefined;
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let at = 0;
    while (bytes.length - at >= headerBytes) {
      const length = view.getUint16(at, true);
      if (length > this.#longest) throw broken(`Expected a frame of at most ${this.#longest} bytes, got ${length}`);
      if (view.getUint8(at + 3) !== 0) throw broken("Expected the fourth byte of a frame to be 0");
      if (bytes.length - at < headerBytes + length) break;
      const payload = new DataView(bytes.buffer, bytes.byteOffset + at + headerBytes, length);
      this.#onFrame(view.getUint8(at + 2), view.getUint32(at + 4, true), payload);
      at += headerBytes + length;
    }
    if (at < bytes.length) this.#rest = bytes.slice(at);
  }
}

/** A frame to be filled in: its header is written, its payload begins at {@linkcode headerBytes}. */
export function frame(type: number, number: number, length: number): { bytes: Uint8Array; view: DataView } {
  const bytes = new Uint8Array(headerBytes + length);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, length, true);
  view.setUint8(2, type);
  view.setUint32(4, number, true);
  return { bytes, view };
}

/** A frame without a payload. */
export function bare(type: number, number: number): Uint8Array {
  return frame(type, number, 0).bytes;
}

/** The bytes of a payload from `at` on. */
export function tail(payload: DataView, at: number): Uint8Array {
  return new Uint8Array(payload.buffer, payload.byteOffset + at, payload.byteLength - at);
}

/** @throws CoreError `BULKHEAD_PROTOCOL` */
export function expectLength(what: string, payload: DataView, least: number, most: number = least): void {
  const { byteLength } = payload;
  if (byteLength >= least && byteLength <= most) return;
  const expected = least === most ? `${least}` : `${least} to ${most}`;
  throw broken(`Expected ${what} to have ${expected} bytes, got ${byteLength}`);
}
