import { CoreError } from "../../../core/error.ts";

/**
 * Packets on the wire: `length:u24 seq:u8` and as many bytes. A frame of exactly `maxFrame` bytes is continued by the
 * next one, so a packet of a multiple of it ends with an empty frame.
 */
export const maxFrame = 0xffffff;

/** Bytes that a payload of `length` takes on the wire. */
export const framedLength = (length: number): number => length + 4 * (Math.floor(length / maxFrame) + 1);

/** The frames of one packet in one buffer. `seq` is the first frame's number; numbers wrap at 256. */
export function frame(seq: number, payload: Uint8Array): Uint8Array {
  const out = new Uint8Array(framedLength(payload.length));
  write(out, 0, seq, payload);
  return out;
}

/** Several packets in one buffer, numbered on from `firstSeq`. */
export function frames(firstSeq: number, payloads: readonly Uint8Array[]): Uint8Array {
  let size = 0;
  for (const payload of payloads) size += framedLength(payload.length);
  const out = new Uint8Array(size);
  let at = 0, seq = firstSeq;
  for (const payload of payloads) {
    at = write(out, at, seq, payload);
    seq += Math.floor(payload.length / maxFrame) + 1;
  }
  return out;
}

function write(out: Uint8Array, at: number, seq: number, payload: Uint8Array): number {
  for (let from = 0;; from += maxFrame) {
    const n = Math.min(maxFrame, payload.length - from);
    out[at] = n;
    out[at + 1] = n >>> 8;
    out[at + 2] = n >>> 16;
    out[at + 3] = seq++;
    out.set(from === 0 && n === payload.length ? payload : payload.subarray(from, from + n), at + 4);
    at += 4 + n;
    if (n < maxFrame) return at;
  }
}

/**
 * Puts whole packets together from chunks that are cut anywhere. For the phases with few and small packets: logins and
 * dialogues; commands and replies have readers of their own that do not gather.
 */
export class PacketReader {
  /** The number the next frame must have; undefined: any. It counts on by itself, over what is received. */
  expectSeq: number | undefined = undefined;
  readonly #limit: number;
  readonly #onPacket: (payload: Uint8Array, seq: number) => boolean | void;
  #length = 0;
  #seq = 0;
  /** Bytes of the header that are there, 0 to 4. */
  #header = 0;
  /** Payload gathered of the packet so far, this many bytes of `#buffer`. */
  #gathered = 0;
  #buffer: Uint8Array = new Uint8Array(0);
  /** Payload bytes of the frame still to come, once its header is whole. */
  #missing = 0;

  /**
   * @param limit the longest payload, bytes
   * @param onPacket gets each whole payload (its own to keep) and its last frame's number; false stops the reading
   */
  constructor(limit: number, onPacket: (payload: Uint8Array, seq: number) => boolean | void) {
    this.#limit = limit;
    this.#onPacket = onPacket;
  }

  /**
   * Takes a chunk, which it may keep. Returns undefined, or, when `onPacket` returned false, the bytes behind that packet
   * (possibly none); the next push then begins a packet again.
   *
   * @throws CoreError `DB_PACKET_TOO_LARGE`, `DB_SEQUENCE`
   */
  push(chunk: Uint8Array): Uint8Array | undefined {
    let at = 0;
    while (at < chunk.length) {
      if (this.#header < 4) {
        const byte = chunk[at++]!;
        if (this.#header === 3) this.#seq = byte;
        else this.#length |= byte << (8 * this.#header);
        if (++this.#header < 4) continue;
        this.#begin();
      }
      const n = Math.min(this.#missing, chunk.length - at);
      const last = this.#length < maxFrame;
      if (n < this.#missing || this.#gathered > 0 || !last) this.#gather(chunk, at, n);
      this.#missing -= n;
      at += n;
      if (this.#missing > 0) return undefined;
      this.#header = 0;
      this.#length = 0;
      if (!last) continue;
      const payload = this.#gathered > 0 ? this.#buffer.subarray(0, this.#gathered) : chunk.subarray(at - n, at);
      this.#gathered = 0;
      this.#buffer = new Uint8Array(0);
      if (this.#onPacket(payload, this.#seq) === false) return chunk.subarray(at);
    }
    return undefined;
  }

  #begin(): void {
    if (this.expectSeq !== undefined) {
      if (this.#seq !== this.expectSeq) {
        throw new CoreError("DB_SEQUENCE", `Packet number ${this.#seq} came where ${this.expectSeq} was due`);
      }
      this.expectSeq = this.#seq + 1 & 0xff;
    }
    if (this.#gathered + this.#length > this.#limit) {
      throw new CoreError("DB_PACKET_TOO_LARGE", `A packet is longer than the ${this.#limit} bytes allowed here`);
    }
    this.#missing = this.#length;
  }

  /** Grows with what has come, never with what is only announced. */
  #gather(chunk: Uint8Array, at: number, n: number): void {
    const end = this.#gathered + n;
    if (end > this.#buffer.length) {
      const grown = new Uint8Array(Math.max(end, Math.min(this.#limit, this.#buffer.length * 2)));
      grown.set(this.#buffer.subarray(0, this.#gathered));
      this.#buffer = grown;
    }
    this.#buffer.set(chunk.subarray(at, at + n), this.#gathered);
    this.#gathered = end;
  }
}
