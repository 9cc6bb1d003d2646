/**
 * A costly computation, told in steps of well under a millisecond: who drives it rests between them, so that the event loop goes on.
 * `yield` ends a step, `return` gives the hash as it would stand in a file.
 */
export type Steps = Generator<void, string, void>;

const alphabet = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** The base 64 of `crypt(3)`: six bits a letter, the lowest first, of three bytes whose first is the highest. */
export function crypt64(a: number, b: number, c: number, letters: number): string {
  let bits = (a << 16) | (b << 8) | c, text = "";
  for (let i = 0; i < letters; i++, bits >>>= 6) text += alphabet[bits & 63];
  return text;
}
