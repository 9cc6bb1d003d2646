import { createHash } from "node:crypto";
import { crypt64, type Steps } from "./steps.ts";

/** Rounds in one step. */
const stepRounds = 50;

const md5 = (...parts: readonly Uint8Array[]) => {
  const hash = createHash("md5");
  for (const part of parts) hash.update(part);
  return hash.digest();
};

/** `$apr1$` (Apache) and `$1$` (FreeBSD's MD5-crypt, from which it comes): 1000 rounds of MD5. */
export function* md5Crypt(password: Uint8Array, magic: "$apr1$" | "$1$", saltText: string): Steps {
  const salt = new TextEncoder().encode(saltText);
  const inner = md5(password, salt, password);
  const parts: Uint8Array[] = [password, new TextEncoder().encode(magic), salt];
  for (let left = password.length; left > 0; left -= 16) parts.push(inner.subarray(0, Math.min(16, left)));
  for (let bits = password.length; bits > 0; bits >>>= 1) {
    parts.push(bits & 1 ? new Uint8Array(1) : password.subarray(0, 1));
  }
  let f = md5(...parts);
  for (let i = 0; i < 1000; i++) {
    if (i % stepRounds === 0) yield;
    const round: Uint8Array[] = [i & 1 ? password : f];
    if (i % 3 !== 0) round.push(salt);
    if (i % 7 !== 0) round.push(password);
    round.push(i & 1 ? f : password);
    f = md5(...round);
  }
  const b = (at: number) => f[at]!;
  let text = "";
  for (let i = 0; i < 5; i++) text += crypt64(b(i), b(i + 6), b(i === 4 ? 5 : i + 12), 4);
  return `${magic}${saltText}$${text}${crypt64(0, 0, b(11), 2)}`;
}
