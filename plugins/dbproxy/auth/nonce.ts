/** Random bytes are drawn for many nonces at once, into the same memory: fresh memory costs more than the draw. */
const bytes = new Uint8Array(4096);
let at = bytes.length;

/** A nonce for a greeting or an auth switch: 20 random bytes of 1 to 127 but `$`, as the servers make them. */
export function newNonce(): Uint8Array {
  const nonce = new Uint8Array(20);
  for (let filled = 0; filled < nonce.length;) {
    if (at === bytes.length) {
      crypto.getRandomValues(bytes);
      at = 0;
    }
    const c = bytes[at]! & 0x7f;
    // What was used is not kept.
    bytes[at++] = 0;
    if (c !== 0 && c !== 0x24) nonce[filled++] = c;
  }
  return nonce;
}
