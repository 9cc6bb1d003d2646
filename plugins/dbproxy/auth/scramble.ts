/**
 * The scrambles of MySQL's password plugins: pure functions of password and nonce.
 *
 * Source: the servers' protocol documentation, and what MySQL 9.7 and MariaDB 10.11 answer.
 *
 * @module
 */
import { createHash, timingSafeEqual } from "node:crypto";

/** A nonce is 20 bytes, and comes with a NUL behind it in places. */
export const nonceLength = 20;

const none = new Uint8Array();

function sha1(...parts: readonly (Uint8Array | string)[]): Uint8Array {
  const hash = createHash("sha1");
  for (const part of parts) hash.update(part);
  return hash.digest();
}

function sha256(...parts: readonly (Uint8Array | string)[]): Uint8Array {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
}

function xor(a: Uint8Array, b: Uint8Array): Uint8Array {
  return Uint8Array.from(a, (byte, i) => byte ^ b[i]!);
}

/** Whether two strings of bytes are the same, in a time that does not depend on where they differ. */
export function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}

/** `SHA1(SHA1(password))`: what `mysql.user` holds. */
export function nativeHash(password: string | Uint8Array): Uint8Array {
  return sha1(sha1(password));
}

/** The client's answer of mysql_native_password: `SHA1(p) XOR SHA1(nonce + SHA1(SHA1(p)))`; nothing for an empty password. */
export function nativeAnswer(password: string, nonce: Uint8Array): Uint8Array {
  if (password === "") return none;
  const once = sha1(password);
  return xor(once, sha1(nonce.subarray(0, nonceLength), sha1(once)));
}

/** Checks an answer of mysql_native_password against `SHA1(SHA1(password))`. */
export function nativeVerify(answer: Uint8Array, nonce: Uint8Array, doubleHash: Uint8Array): boolean {
  if (answer.length !== 20) return false;
  return equal(sha1(xor(answer, sha1(nonce.subarray(0, nonceLength), doubleHash))), doubleHash);
}

/** `SHA256(SHA256(password))`: what the fast path of caching_sha2_password needs. */
export function sha2Hash(password: string | Uint8Array): Uint8Array {
  return sha256(sha256(password));
}

/** The client's answer of caching_sha2_password: `SHA256(p) XOR SHA256(SHA256(SHA256(p)) + nonce)`; nothing for an empty password. */
export function sha2Answer(password: string, nonce: Uint8Array): Uint8Array {
  if (password === "") return none;
  const once = sha256(password);
  return xor(once, sha256(sha256(once), nonce.subarray(0, nonceLength)));
}

/** Checks an answer of caching_sha2_password against `SHA256(SHA256(password))`. */
export function sha2Verify(answer: Uint8Array, nonce: Uint8Array, doubleHash: Uint8Array): boolean {
  if (answer.length !== 32) return false;
  return equal(sha256(xor(answer, sha256(doubleHash, nonce.subarray(0, nonceLength)))), doubleHash);
}

/** The password and a NUL: what goes over TLS or a unix socket. */
export function clearAnswer(password: string): Uint8Array {
  return new TextEncoder().encode(password + "\0");
}
