const nothing: Uint8Array = new Uint8Array(0);

/** Received bytes in one piece, for packets that are only of use whole. A chunk that finds it empty is not copied. */
export class Inbox {
  #bytes: Uint8Array = nothing;
  #from = 0;
  #to = 0;

  get length(): number {
    return this.#to - this.#from;
  }

  push(chunk: Uint8Array): void {
    const have = this.length;
    if (have === 0) {
      this.#bytes = chunk;
      this.#from = 0;
      this.#to = chunk.length;
      return;
    }
    if (this.#to + chunk.length > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(have * 2, have + chunk.length));
      grown.set(this.#bytes.subarray(this.#from, this.#to));
      this.#bytes = grown;
      this.#from = 0;
      this.#to = have;
    }
    this.#bytes.set(chunk, this.#to);
    this.#to += chunk.length;
  }

  /** The byte at an offset below `length`. */
  u8(offset: number): number {
    return this.#bytes[this.#from + offset]!;
  }

  u24(offset: number): number {
    return this.u8(offset) | this.u8(offset + 1) << 8 | this.u8(offset + 2) << 16;
  }

  /** Takes `n` bytes out, as a view; n is at most `length`. They are not written to any more. */
  take(n: number): Uint8Array {
    const from = this.#from;
    this.#from += n;
    return this.#bytes.subarray(from, from + n);
  }

  /** Lets go of memory that nothing is left in. */
  settle(): void {
    if (this.length === 0) this.clear();
  }

  clear(): void {
    this.#bytes = nothing;
    this.#from = this.#to = 0;
  }
}
