/**
 * MariaDB's client_ed25519: the signature of the server's 32-byte nonce. The secret is `SHA512(password)`, where Ed25519
 * hashes a seed of 32 bytes; all else is RFC 8032, so `node:crypto` verifies it.
 *
 * @module
 */
import { createHash, createPublicKey, verify } from "node:crypto";
import { order, timesBase, toBytes, toNumber } from "./curve.ts";

function sha512(...parts: readonly (Uint8Array | string)[]): Uint8Array {
  const hash = createHash("sha512");
  for (const part of parts) hash.update(part);
  return hash.digest();
}

function secrets(password: string): { readonly scalar: bigint; readonly prefix: Uint8Array } {
  const hash = sha512(password);
  const clamped = hash.slice(0, 32);
  clamped[0]! &= 248;
  clamped[31]! &= 127;
  clamped[31]! |= 64;
  return { scalar: toNumber(clamped), prefix: hash.subarray(32) };
}

/** The public key of a password, 32 bytes: what `mysql.global_priv` holds, as Base64 without its `=`. */
export function ed25519PublicKey(password: string): Uint8Array {
  return timesBase(secrets(password).scalar);
}

/** The client's answer, 64 bytes; nothing for an empty password. Takes some ms. */
export function ed25519Answer(password: string, nonce: Uint8Array): Uint8Array {
  if (password === "") return new Uint8Array();
  const { scalar, prefix } = secrets(password);
  const r = toNumber(sha512(prefix, nonce)) % order;
  const point = timesBase(r);
  const k = toNumber(sha512(point, timesBase(scalar), nonce)) % order;
  const signature = new Uint8Array(64);
  signature.set(point);
  signature.set(toBytes((r + k * scalar) % order), 32);
  return signature;
}

/** What stands before an Ed25519 public key in its DER form. */
const spki = Uint8Array.from([0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00]);

/** Checks an answer against the public key of a password. */
export function ed25519Verify(answer: Uint8Array, nonce: Uint8Array, publicKey: Uint8Array): boolean {
  if (answer.length !== 64 || publicKey.length !== 32) return false;
  const der = new Uint8Array(spki.length + 32);
  der.set(spki);
  der.set(publicKey, spki.length);
  try {
    const key = createPublicKey({ key: der as never, format: "der", type: "spki" });
    return verify(null, nonce, key, answer);
  } catch {
    return false;
  }
}
