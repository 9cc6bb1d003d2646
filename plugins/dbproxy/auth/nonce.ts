import { randomBytes } from "node:crypto";

/** A nonce for a greeting or an auth switch: 20 random bytes of 1 to 127 but `$`, as the servers make them. */
export function newNonce(): Uint8Array {
  const nonce = new Uint8Array(20);
  for (let filled = 0; filled < nonce.length;) {
    for (const byte of randomBytes(32)) {
      const c = byte & 0x7f;
      if (c === 0 || c === 0x24 || filled === nonce.length) continue;
      nonce[filled++] = c;
    }
  }
  return nonce;
}
