import { CoreError } from "../../../core/error.ts";
import { maxFrame } from "./frame.ts";

/**
 * Finds where a packet ends in bytes that come in chunks cut anywhere, without gathering or copying any. One packet at a
 * time: `begin`, then `walk` over the chunks until `done`.
 */
export class FrameWalk {
  /** The packet's last byte was reached. */
  done = false;
  /** Payload bytes of all the packet's frames whose headers were seen. */
  total = 0;
  /** First byte of the payload; -1: the packet is empty; -2: not seen yet. */
  first = -2;
  /** Number the next frame must have; -1: any. */
  #seq = -1;
  #limit = 0;
  /** Header bytes seen of the present frame, 0 to 4. */
  #header = 0;
  #length = 0;
  /** Payload bytes of the present frame still to come. */
  #left = 0;

  /**
   * @param seq number of the packet's first frame; -1: any
   * @param limit longest payload, bytes
   */
  begin(seq: number, limit: number): void {
    this.done = false;
    this.total = 0;
    this.first = -2;
    this.#seq = seq;
    this.#limit = limit;
    this.#header = 0;
    this.#length = 0;
  }

  /**
   * Walks from `at` to the packet's end, or to the chunk's. Returns where it stopped.
   *
   * @throws CoreError `DB_SEQUENCE`, `DB_PACKET_TOO_LARGE`
   */
  walk(chunk: Uint8Array, at: number): number {
    for (;;) {
      while (this.#header < 4) {
        if (at >= chunk.length) return at;
        const byte = chunk[at++]!;
        if (this.#header++ < 3) this.#length |= byte << (8 * (this.#header - 1));
        else this.#frame(byte);
      }
      if (this.first === -2 && this.#left > 0 && at < chunk.length) this.first = chunk[at]!;
      const n = Math.min(this.#left, chunk.length - at);
      at += n;
      this.#left -= n;
      if (this.#left > 0) return at;
      const last = this.#length < maxFrame;
      this.#header = 0;
      this.#length = 0;
      if (!last) continue;
      if (this.total === 0) this.first = -1;
      this.done = true;
      return at;
    }
  }

  #frame(seq: number): void {
    if (this.#seq >= 0 && seq !== this.#seq) {
      throw new CoreError("DB_SEQUENCE", `Packet number ${seq} came where ${this.#seq} was due`);
    }
    this.#seq = seq + 1 & 0xff;
    this.#left = this.#length;
    this.total += this.#length;
    if (this.total > this.#limit) {
      throw new CoreError("DB_PACKET_TOO_LARGE", `A packet is longer than the ${this.#limit} bytes allowed`);
    }
  }
}
