/**
 * What a client answers a server that asks for a password.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { constants, createHash, publicEncrypt } from "node:crypto";

const hash = (name: string, ...parts: Uint8Array[]) => {
  const made = createHash(name);
  for (const part of parts) made.update(part);
  return made.digest();
};
const xor = (a: Buffer, b: Buffer) => Buffer.from(a.map((byte, index) => byte ^ b[index % b.length]!));

export function scramble(plugin: string, password: string, nonce: Buffer): Buffer {
  if (password === "") return Buffer.alloc(0);
  const secret = Buffer.from(password);
  switch (plugin) {
    case "mysql_native_password": {
      const once = hash("sha1", secret);
      return xor(once, hash("sha1", nonce, hash("sha1", once)));
    }
    case "caching_sha2_password": {
      const once = hash("sha256", secret);
      return xor(once, hash("sha256", hash("sha256", once), nonce));
    }
    case "sha256_password":
      // Asks for the server's key.
      return Buffer.of(1);
    case "mysql_clear_password":
      return Buffer.from(`${password}\0`);
    default:
      throw new Error(`The tests' client does not know ${plugin}`);
  }
}

/** The password for the server's RSA key: full authentication of caching_sha2_password without TLS. */
export function rsaPassword(password: string, nonce: Buffer, pem: Buffer): Buffer {
  const key = { key: pem.toString(), padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha1" };
  return publicEncrypt(key, xor(Buffer.from(`${password}\0`), nonce));
}
