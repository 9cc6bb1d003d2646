/**
 * A PHP array of strings, integers and arrays, as `$_POST` and `$_FILES` are. Text is bytes: one character for each.
 *
 * @module
 */

export type PhpValue = string | number | PhpArray;

export class PhpArray implements Iterable<[key: string | number, value: PhpValue]> {
  readonly #items = new Map<string | number, PhpValue>();
  #last: number | undefined;

  get size(): number {
    return this.#items.size;
  }

  get(key: string | number): PhpValue | undefined {
    return this.#items.get(canonical(key));
  }

  set(key: string | number, value: PhpValue): void {
    const at = canonical(key);
    if (typeof at === "number" && !(at < this.#last!)) this.#last = at;
    this.#items.set(at, value);
  }

  /** `$array[] = $value` */
  append(value: PhpValue): void {
    this.set(this.#last === undefined ? 0 : this.#last + 1, value);
  }

  delete(key: string | number): void {
    this.#items.delete(canonical(key));
  }

  [Symbol.iterator](): Iterator<[string | number, PhpValue]> {
    return this.#items.entries();
  }

  /** As `json_encode` would give it, for text that is UTF-8 bytes: a list becomes an array. */
  toJSON(): unknown {
    const text = (value: PhpValue | string) => typeof value === "string" ? utf8(value) : value;
    const items = [...this.#items];
    if (items.every(([key], i) => key === i)) return items.map(([, value]) => text(value));
    const object: Record<string, unknown> = Object.create(null);
    for (const [key, value] of items) object[typeof key === "string" ? utf8(key) : key] = text(value);
    return object;
  }
}

/** PHP's rule: a decimal integer without leading zeros, in the range that is exact here, is an integer. */
function canonical(key: string | number): string | number {
  if (typeof key === "number" || !/^(0|-?[1-9][0-9]{0,15})$/.test(key)) return key;
  const number = Number(key);
  return Number.isSafeInteger(number) ? number : key;
}

function utf8(bytes: string): string {
  return new TextDecoder().decode(Uint8Array.from(bytes, (c) => c.charCodeAt(0)));
}
