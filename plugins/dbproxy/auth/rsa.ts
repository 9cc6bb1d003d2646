/**
 * RSA for passwords over a plain connection: OAEP with SHA-1 of the password and its NUL, XORed with the nonce.
 *
 * @module
 */
import {
  constants,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  privateDecrypt,
  publicEncrypt,
} from "node:crypto";
import { readFileSync } from "node:fs";
import { CoreError } from "../../../core/error.ts";

/** A server's key pair. */
export interface RsaKeys {
  /** What a client is sent: SubjectPublicKeyInfo as PEM. */
  readonly publicPem: Uint8Array;
  readonly privateKey: KeyObject;
}

/** By file; the generated one under the empty name. */
const made = new Map<string, RsaKeys>();

/**
 * The process's key pair: read once from `file` (a private key as PEM), or made when first asked for; that takes some 50 ms.
 *
 * @throws CoreError `DB_RSA_KEY` when the file cannot be read or holds no RSA key of 2048 bits or more
 */
export function rsaKeys(file?: string): RsaKeys {
  let keys = made.get(file ?? "");
  if (keys === undefined) {
    keys = file === undefined ? pair(generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey) : load(file);
    made.set(file ?? "", keys);
  }
  return keys;
}

function load(file: string): RsaKeys {
  let key: KeyObject;
  try {
    key = createPrivateKey(readFileSync(file));
  } catch (cause) {
    throw new CoreError("DB_RSA_KEY", `Cannot read an RSA private key from ${file}: ${(cause as Error).message}`, {
      cause,
    });
  }
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (key.asymmetricKeyType !== "rsa" || bits < 2048) {
    throw new CoreError("DB_RSA_KEY", `Cannot use the key in ${file}: expected an RSA key of 2048 bits or more`);
  }
  return pair(key);
}

function pair(privateKey: KeyObject): RsaKeys {
  const pem = createPublicKey(privateKey).export({ type: "spki", format: "pem" });
  return { publicPem: new TextEncoder().encode(String(pem)), privateKey };
}

const padding = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha1" } as const;

/**
 * Encrypts a password for the server whose public key is `pem`.
 *
 * @throws CoreError `DB_AUTH_UNSUPPORTED` when the password is longer than one block holds (213 bytes for 2048 bits),
 * `DB_PROTOCOL` when `pem` is no RSA key
 */
export function encryptPassword(password: string, nonce: Uint8Array, pem: string): Uint8Array {
  let key: KeyObject;
  try {
    key = createPublicKey(pem);
  } catch (cause) {
    throw new CoreError("DB_PROTOCOL", "The server's public key is not PEM", { cause });
  }
  if (key.asymmetricKeyType !== "rsa") throw new CoreError("DB_PROTOCOL", "The server's public key is not RSA");
  const plain = obfuscate(new TextEncoder().encode(password + "\0"), nonce);
  const room = (key.asymmetricKeyDetails?.modulusLength ?? 2048) / 8 - 42;
  if (plain.length > room) {
    throw new CoreError(
      "DB_AUTH_UNSUPPORTED",
      `The password has ${plain.length - 1} bytes, and the server's RSA key can encrypt ${room - 1}: use TLS or a unix socket`,
    );
  }
  return publicEncrypt({ key, ...padding }, plain);
}

/** Decrypts what {@linkcode encryptPassword} made; undefined when it is not that. The password comes without its NUL. */
export function decryptPassword(block: Uint8Array, nonce: Uint8Array, keys: RsaKeys): Uint8Array | undefined {
  let plain: Uint8Array;
  try {
    plain = obfuscate(privateDecrypt({ key: keys.privateKey, ...padding }, block), nonce);
  } catch {
    return undefined;
  }
  return plain.at(-1) === 0 ? plain.subarray(0, -1) : undefined;
}

/** XOR with the nonce, repeated. */
function obfuscate(bytes: Uint8Array, nonce: Uint8Array): Uint8Array {
  return Uint8Array.from(bytes, (byte, i) => byte ^ nonce[i % nonce.length]!);
}
