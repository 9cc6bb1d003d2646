import { createHash } from "node:crypto";
import { crypt64, type Steps } from "./steps.ts";

/** Rounds in one step. */
const stepRounds = 50;
/** Where the hash does not say. */
export const usualRounds = 5000;

const encoder = new TextEncoder();

/** The first `length` bytes of a block said over and over. */
function repeated(block: Uint8Array, length: number): Uint8Array {
  const out = new Uint8Array(length);
  for (let at = 0; at < length; at += block.length) out.set(block.subarray(0, length - at), at);
  return out;
}

export interface ShaCryptTerms {
  readonly bits: 256 | 512;
  readonly salt: string;
  readonly rounds: number;
  /** What stands before the hash, up to its last `$`. */
  readonly prefix: string;
}

/** `$5$` and `$6$`, as Ulrich Drepper's "Unix crypt using SHA-256 and SHA-512" has them; the names of the sums are his. */
export function* shaCrypt(password: Uint8Array, { bits, salt: saltText, rounds, prefix }: ShaCryptTerms): Steps {
  const sum = (...parts: readonly Uint8Array[]) => {
    const hash = createHash(`sha${bits}`);
    for (const part of parts) hash.update(part);
    return hash.digest();
  };
  const salt = encoder.encode(saltText);
  const b = sum(password, salt, password);
  const parts = [password, salt, repeated(b, password.length)];
  for (let n = password.length; n > 0; n >>>= 1) parts.push(n & 1 ? b : password);
  const a = sum(...parts);
  const p = repeated(sum(...Array.from({ length: password.length }, () => password)), password.length);
  const s = repeated(sum(...Array.from({ length: 16 + a[0]! }, () => salt)), salt.length);
  let c = a;
  for (let i = 0; i < rounds; i++) {
    if (i % stepRounds === 0) yield;
    const round: Uint8Array[] = [i & 1 ? p : c];
    if (i % 3 !== 0) round.push(s);
    if (i % 7 !== 0) round.push(p);
    round.push(i & 1 ? c : p);
    c = sum(...round);
  }
  return `${prefix}$${bits === 512 ? letters512(c) : letters256(c)}`;
}

function letters512(c: Uint8Array): string {
  let text = "";
  for (let i = 0, at = [0, 21, 42] as const; i < 21; i++, at = [at[1] + 1, at[2] + 1, at[0] + 1] as never) {
    text += crypt64(c[at[0]]!, c[at[1]]!, c[at[2]]!, 4);
  }
  return text + crypt64(0, 0, c[63]!, 2);
}

function letters256(c: Uint8Array): string {
  let text = "";
  for (let i = 0, at = [0, 10, 20] as const; i < 10; i++, at = [at[2] + 1, at[0] + 1, at[1] + 1] as never) {
    text += crypt64(c[at[0]]!, c[at[1]]!, c[at[2]]!, 4);
  }
  return text + crypt64(0, c[31]!, c[30]!, 3);
}
