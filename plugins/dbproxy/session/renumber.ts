/**
 * Lowers the sequence numbers of a client's frames as they pass, cut anywhere: in front of a LOCAL INFILE there may have been
 * packets that only the client has seen.
 */
export class Renumber {
  readonly #shift: number;
  /** Bytes of the present header that have come, 0 to 3; the fourth is the number. */
  #header = 0;
  #length = 0;
  /** Bytes of the present frame's payload still to come. */
  #left = 0;

  /** @param shift how far the client is ahead */
  constructor(shift: number) {
    this.#shift = shift;
  }

  /** Changes the bytes in place. */
  pass(bytes: Uint8Array): void {
    let at = 0;
    while (at < bytes.byteLength) {
      if (this.#left > 0) {
        const skipped = Math.min(this.#left, bytes.byteLength - at);
        this.#left -= skipped;
        at += skipped;
      } else if (this.#header < 3) {
        this.#length |= bytes[at++]! << 8 * this.#header++;
      } else {
        bytes[at] = bytes[at]! - this.#shift & 255;
        at++;
        this.#left = this.#length;
        this.#header = this.#length = 0;
      }
    }
  }
}
