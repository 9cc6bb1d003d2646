import { Buffer } from "node:buffer";
/** HTTP Basic authentication (RFC 7617), as bytes on the wire. @module */

export interface Credentials {
  readonly user: string;
  readonly password: Uint8Array;
}

/** Hashing takes time by the length. */
const maxPassword = 256;

/** What an `Authorization` header says, or undefined where it says nothing that can be right. */
export function readBasic(header: string | null): Credentials | undefined {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header ?? "")?.[1];
  if (encoded === undefined) return undefined;
  const bytes = new Uint8Array(Buffer.from(encoded, "base64"));
  const colon = bytes.indexOf(58);
  if (colon < 0 || bytes.length - colon - 1 > maxPassword) return undefined;
  // Hashes of old end at a NUL, and so would two passwords be one.
  if (bytes.includes(0)) return undefined;
  return { user: new TextDecoder().decode(bytes.subarray(0, colon)), password: bytes.slice(colon + 1) };
}

/** What asks a client for its password. */
export function challenge(realm: string): string {
  return `Basic realm="${realm}", charset="UTF-8"`;
}
