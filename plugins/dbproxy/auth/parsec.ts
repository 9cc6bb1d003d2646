/**
 * MariaDB's parsec (11.6 and later): an Ed25519 key derived from the password by PBKDF2, and a signature over both sides'
 * nonces.
 *
 * @module
 */
import { createPrivateKey, pbkdf2Sync, randomBytes, sign } from "node:crypto";
import { CoreError } from "../../../core/error.ts";

/** What stands before an Ed25519 seed in its DER form. */
const pkcs8 = Uint8Array.from([
  ...[0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20],
]);

/** Iterations are 1024 shifted by this; the server's own limit is 3, and each step doubles the client's work. */
const highestFactor = 3;

/**
 * The client's answer to the server's extended salt (`P`, a factor, and 18 bytes of salt): its own nonce of 32 bytes and the
 * signature.
 *
 * @throws CoreError `DB_PROTOCOL`, `DB_AUTH_UNSUPPORTED` for another way to derive the key
 */
export function parsecAnswer(
  password: string,
  serverNonce: Uint8Array,
  extendedSalt: Uint8Array,
  clientNonce: Uint8Array = randomBytes(32),
): Uint8Array {
  if (extendedSalt.length < 3 || serverNonce.length !== 32) {
    throw new CoreError("DB_PROTOCOL", "The server's salt of the plugin parsec is too short");
  }
  const [method, factor] = extendedSalt;
  if (method !== 0x50 || factor! > highestFactor) {
    throw new CoreError("DB_AUTH_UNSUPPORTED", "The server's plugin parsec asks for a key derivation unknown to this version");
  }
  const seed = pbkdf2Sync(password, extendedSalt.subarray(2), 1024 << factor!, 32, "sha512");
  const der = new Uint8Array(48);
  der.set(pkcs8);
  der.set(seed, 16);
  const key = createPrivateKey({ key: der as never, format: "der", type: "pkcs8" });
  const nonces = new Uint8Array(64);
  nonces.set(serverNonce);
  nonces.set(clientNonce, 32);
  const answer = new Uint8Array(96);
  answer.set(clientNonce);
  answer.set(sign(null, nonces, key), 32);
  return answer;
}
