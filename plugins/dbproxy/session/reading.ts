/** Longest reply (bytes) that is kept to be given again. */
const longest = 4096;

/** The reply to a statement that only reads the session's variables, while it goes by. */
export class Reading {
  readonly key: string;
  readonly names: readonly string[];
  #parts: Uint8Array[] = [];
  #length = 0;

  constructor(key: string, names: readonly string[]) {
    this.key = key;
    this.names = names;
  }

  record(bytes: Uint8Array): void {
    this.#length += bytes.byteLength;
    if (this.#length <= longest) this.#parts.push(bytes.slice());
  }

  /** The whole reply; undefined when there was none, or it was too long to keep. */
  get bytes(): Uint8Array | undefined {
    if (this.#length === 0 || this.#length > longest) return undefined;
    const out = new Uint8Array(this.#length);
    let at = 0;
    for (const part of this.#parts) {
      out.set(part, at);
      at += part.byteLength;
    }
    return out;
  }
}
