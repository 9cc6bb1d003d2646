/**
 * The beginning of a frame that the end of a chunk has cut off.
 *
 * @module
 */
const EMPTY = new Uint8Array(0);

export class Held {
  bytes: Uint8Array = EMPTY;
  length = 0;

  /** Takes from `chunk` what is missing to `size` bytes, or what there is. Returns how much it took. */
  fill(chunk: Uint8Array, at: number, size: number): number {
    const taken = Math.max(0, Math.min(size - this.length, chunk.length - at));
    const length = this.length + taken;
    if (length > this.bytes.length) {
      // Grows with what has come, not with what a header promises.
      const larger = new Uint8Array(Math.max(64, length, Math.min(size, 2 * length)));
      larger.set(this.bytes.subarray(0, this.length));
      this.bytes = larger;
    }
    this.bytes.set(chunk.subarray(at, at + taken), this.length);
    this.length = length;
    return taken;
  }

  /** Forgets the bytes: they are on their way out and must not change any more. */
  clear(): void {
    this.bytes = EMPTY;
    this.length = 0;
  }
}
