import { concat } from "./concat.ts";

/**
 * Chunks that wait to be read, and a place in the first of them. Many small ones are put together, so that a peer that
 * sends single bytes costs no more memory than its bytes.
 */
export class ChunkQueue {
  /** The chunk being read; undefined when nothing is left. */
  chunk: Uint8Array | undefined = undefined;
  /** Where in `chunk` the reading is. */
  at = 0;
  #later: Uint8Array[] = [];
  #laterBytes = 0;

  /** Bytes not yet read. */
  get length(): number {
    return this.chunk === undefined ? 0 : this.chunk.length - this.at + this.#laterBytes;
  }

  push(chunk: Uint8Array): void {
    if (this.chunk === undefined) {
      this.chunk = chunk;
      this.at = 0;
      return;
    }
    this.#later.push(chunk);
    this.#laterBytes += chunk.length;
    if (this.#later.length === 64) this.#later = [concat(this.#later, this.#laterBytes)];
  }

  /** Lets go of a chunk that was read to its end. False when there is no other. */
  settle(): boolean {
    while (this.chunk !== undefined && this.at === this.chunk.length) {
      this.chunk = this.#later.shift();
      this.at = 0;
      if (this.chunk !== undefined) this.#laterBytes -= this.chunk.length;
    }
    return this.chunk !== undefined;
  }

  clear(): void {
    this.chunk = undefined;
    this.#later = [];
    this.#laterBytes = 0;
  }
}
