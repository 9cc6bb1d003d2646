import { Buffer } from "node:buffer";

/** Bytes that come in pieces, however small: each is copied a fixed number of times, and no piece is held. */
export class Gathered {
  #bytes: Buffer = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(piece: Uint8Array): void {
    const length = this.#length + piece.byteLength;
    if (length > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#bytes.length, 64));
      larger.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = larger;
    }
    this.#bytes.set(piece, this.#length);
    this.#length = length;
  }

  /** Everything, and begins anew. */
  take(): Buffer<ArrayBuffer> {
    const all = this.#bytes.subarray(0, this.#length) as Buffer<ArrayBuffer>;
    this.#bytes = Buffer.alloc(0);
    this.#length = 0;
    return all;
  }
}
