import { CoreError } from "../../../core/error.ts";

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();

const short = (): CoreError => new CoreError("DB_PROTOCOL", "A packet ended before all its fields were there");

/**
 * Reads the fields of one packet, in their order. All integers are little-endian; texts are UTF-8 (bytes that are none
 * become U+FFFD: what must come back untouched is read as bytes).
 *
 * Every method throws CoreError `DB_PROTOCOL` when the packet is too short or a length makes no sense.
 */
export class Reader {
  readonly #bytes: Uint8Array;
  #at: number;

  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = bytes;
    this.#at = at;
  }

  /** Bytes not yet read. */
  get left(): number {
    return this.#bytes.length - this.#at;
  }

  #take(n: number): number {
    const at = this.#at;
    if (!(n <= this.#bytes.length - at)) throw short();
    this.#at = at + n;
    return at;
  }

  u8(): number {
    return this.#bytes[this.#take(1)]!;
  }

  u16(): number {
    const at = this.#take(2), b = this.#bytes;
    return b[at]! | b[at + 1]! << 8;
  }

  u24(): number {
    const at = this.#take(3), b = this.#bytes;
    return b[at]! | b[at + 1]! << 8 | b[at + 2]! << 16;
  }

  u32(): number {
    const at = this.#take(4), b = this.#bytes;
    return (b[at]! | b[at + 1]! << 8 | b[at + 2]! << 16 | b[at + 3]! << 24) >>> 0;
  }

  /** A length-encoded integer; a bigint when it is over 2^53 - 1. NULL (`fb`) and `ff` are errors here. */
  lenenc(): number | bigint {
    const first = this.u8();
    if (first < 0xfb) return first;
    if (first === 0xfc) return this.u16();
    if (first === 0xfd) return this.u24();
    if (first !== 0xfe) throw new CoreError("DB_PROTOCOL", `A length-encoded integer cannot begin with ${first}`);
    const low = this.u32(), high = this.u32();
    return high < 0x200000 ? high * 0x100000000 + low : BigInt(high) << 32n | BigInt(low);
  }

  /** A view of the packet's bytes, not a copy. */
  lenencBytes(): Uint8Array {
    const n = this.lenenc();
    if (typeof n === "bigint") throw short();
    return this.bytes(n);
  }

  lenencText(): string {
    return utf8.decode(this.lenencBytes());
  }

  /** Up to a NUL byte, which is read too and not returned. A view, not a copy. */
  nulBytes(): Uint8Array {
    const end = this.#bytes.indexOf(0, this.#at);
    if (end < 0 || this.left <= 0) throw short();
    const bytes = this.#bytes.subarray(this.#at, end);
    this.#at = end + 1;
    return bytes;
  }

  nulText(): string {
    return utf8.decode(this.nulBytes());
  }

  /** Up to a NUL byte or the packet's end, as the servers read the last fields of a login. Empty when nothing is left. */
  lenientText(): string {
    const end = this.#bytes.indexOf(0, this.#at);
    return end < 0 || this.left <= 0 ? this.restText() : this.nulText();
  }

  /** The next `n` bytes. A view, not a copy. */
  bytes(n: number): Uint8Array {
    const at = this.#take(n);
    return this.#bytes.subarray(at, at + n);
  }

  text(n: number): string {
    return utf8.decode(this.bytes(n));
  }

  /** All that is left. A view, not a copy. */
  rest(): Uint8Array {
    return this.bytes(Math.max(0, this.left));
  }

  restText(): string {
    return utf8.decode(this.rest());
  }
}

/** Writes the fields of one packet. Methods return the writer. */
export class Writer {
  #bytes: Uint8Array;
  #at = 0;

  /** `size`: bytes expected; it grows when they are more. */
  constructor(size = 64) {
    this.#bytes = new Uint8Array(size);
  }

  #room(n: number): number {
    const at = this.#at, end = at + n;
    if (end > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(end, this.#bytes.length * 2));
      grown.set(this.#bytes.subarray(0, at));
      this.#bytes = grown;
    }
    this.#at = end;
    return at;
  }

  #little(value: number, n: number): this {
    if (!Number.isInteger(value) || value < 0 || value >= 2 ** (8 * n)) {
      throw new CoreError("DB_PROTOCOL", `${value} does not fit ${n} bytes`);
    }
    const at = this.#room(n);
    for (let i = 0; i < n; i++) this.#bytes[at + i] = value >>> (8 * i);
    return this;
  }

  u8(value: number): this {
    return this.#little(value, 1);
  }

  u16(value: number): this {
    return this.#little(value, 2);
  }

  u24(value: number): this {
    return this.#little(value, 3);
  }

  u32(value: number): this {
    return this.#little(value, 4);
  }

  /** In the shortest form. */
  lenenc(value: number | bigint): this {
    if (value < 0xfb) return this.u8(Number(value));
    if (value < 0x10000) return this.u8(0xfc).u16(Number(value));
    if (value < 0x1000000) return this.u8(0xfd).u24(Number(value));
    const big = BigInt(value);
    return this.u8(0xfe).u32(Number(big & 0xffffffffn)).u32(Number(big >> 32n));
  }

  lenencBytes(bytes: Uint8Array): this {
    return this.lenenc(bytes.length).bytes(bytes);
  }

  lenencText(text: string): this {
    return this.lenencBytes(encoder.encode(text));
  }

  /**
   * The text and a NUL byte.
   *
   * @throws CoreError `DB_PROTOCOL` when the text has a NUL in it: the rest would be read as other fields
   */
  nulText(text: string): this {
    if (text.includes("\0")) {
      throw new CoreError("DB_PROTOCOL", "A text with a NUL byte cannot be sent in a field that ends with one");
    }
    return this.text(text).u8(0);
  }

  text(text: string): this {
    return this.bytes(encoder.encode(text));
  }

  bytes(bytes: Uint8Array): this {
    const at = this.#room(bytes.length);
    this.#bytes.set(bytes, at);
    return this;
  }

  /** `n` zero bytes. */
  zero(n: number): this {
    this.#room(n);
    return this;
  }

  /** What was written; the writer is empty again. */
  take(): Uint8Array {
    const bytes = this.#bytes.subarray(0, this.#at);
    this.#bytes = new Uint8Array(64);
    this.#at = 0;
    return bytes;
  }
}
