/**
 * bcrypt (Provos and Mazières, "A Future-Adaptable Password Scheme", 1999), to check passwords only. Written here because it must be told
 * in steps: libraries keep the event loop for up to 100 ms at a time, which is what a flood of wrong passwords would want.
 *
 * @module
 */
import { piWords } from "./pi.ts";
import type { Steps } from "./steps.ts";

const alphabet = "./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const plain = new TextEncoder().encode("OrpheanBeholderScryDoubt");

/** Blowfish's 18 subkeys and its four boxes of 256 words, before any key. */
let start: Int32Array | undefined;

/** Computes what bcrypt begins from; takes some 50 ms, once. */
export function prepareBcrypt(): Int32Array {
  return start ??= Int32Array.from(piWords(18 + 4 * 256));
}

/** The words that a key makes when it is said over and over. */
function cyclic(key: Uint8Array, count: number): Int32Array {
  let at = 0;
  return Int32Array.from({ length: count }, () => {
    let word = 0;
    for (let i = 0; i < 4; i++) word = (word << 8) | key[at++ % key.length]!;
    return word;
  });
}

/** Enciphers the two words at `at`. */
function encipher(state: Int32Array, block: Int32Array, at: number): void {
  let l = block[at]!, r = block[at + 1]!;
  for (let i = 0; i < 16; i++) {
    l ^= state[i]!;
    const a = state[18 + (l >>> 24)]!, b = state[274 + ((l >>> 16) & 255)]!;
    r ^= (((a + b) ^ state[530 + ((l >>> 8) & 255)]!) + state[786 + (l & 255)]!) | 0;
    const swapped = l;
    l = r;
    r = swapped;
  }
  block[at] = r ^ state[17]!;
  block[at + 1] = l ^ state[16]!;
}

/** Works a key, and a salt of four words, into the state. */
function expand(state: Int32Array, key: Int32Array, salt: Int32Array): void {
  for (let i = 0; i < 18; i++) state[i]! ^= key[i]!;
  const block = new Int32Array(2);
  for (let i = 0; i < state.length; i += 2) {
    block[0]! ^= salt[i & 3]!;
    block[1]! ^= salt[(i & 3) + 1]!;
    encipher(state, block, 0);
    state.set(block, i);
  }
}

/** @param prefix with the salt: `$2y$10$` and 22 letters */
export function* bcrypt(password: Uint8Array, prefix: string): Steps {
  const cost = Number(prefix.slice(4, 6));
  const saltBytes = decode(prefix.slice(7, 29), 16);
  const salt = cyclic(saltBytes, 4), saltKey = cyclic(saltBytes, 18), none = new Int32Array(4);
  const terminated = new Uint8Array(password.length + 1);
  terminated.set(password);
  const key = cyclic(terminated, 18);
  const state = prepareBcrypt().slice();
  expand(state, key, salt);
  for (let round = 2 ** cost; round > 0; round--) {
    yield;
    expand(state, key, none);
    expand(state, saltKey, none);
  }
  const text = cyclic(plain, 6);
  for (let i = 0; i < 64; i++) for (let at = 0; at < 6; at += 2) encipher(state, text, at);
  const bytes = Uint8Array.from({ length: 23 }, (_, i) => text[i >> 2]! >>> (24 - 8 * (i & 3)));
  return prefix + encode(bytes);
}

function encode(bytes: Uint8Array): string {
  let text = "", bits = 0, held = 0;
  for (const byte of bytes) {
    bits = (bits << 8) | byte;
    for (held += 8; held >= 6; held -= 6) text += alphabet[(bits >>> (held - 6)) & 63];
    bits &= 255;
  }
  return held > 0 ? text + alphabet[(bits << (6 - held)) & 63] : text;
}

function decode(text: string, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  let bits = 0, held = 0, at = 0;
  for (const letter of text) {
    bits = ((bits << 6) | alphabet.indexOf(letter)) & 0xffff;
    held += 6;
    if (held >= 8 && at < length) bytes[at++] = bits >>> (held -= 8);
  }
  return bytes;
}
