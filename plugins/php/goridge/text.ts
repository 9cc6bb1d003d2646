/**
 * Between byte strings (one character for each byte, as `Headers` and forms hold them) and text.
 *
 * @module
 */
import { Buffer } from "node:buffer";

const ascii = /^[\0-\x7f]*$/;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text these bytes are in UTF-8. When they are none, each byte becomes the character it is in Latin-1. */
export function textOf(bytes: string): string {
  if (ascii.test(bytes)) return bytes;
  try {
    return utf8.decode(Buffer.from(bytes, "latin1"));
  } catch {
    return bytes;
  }
}

/** The bytes of a text in UTF-8. */
export function bytesOf(text: string): string {
  return ascii.test(text) ? text : Buffer.from(text, "utf8").toString("latin1");
}

/** A URI, or a part of one, with what is not ASCII percent-encoded, and without control characters. */
export function asciiUri(bytes: string): string {
  return /^[!-~]*$/.test(bytes)
    ? bytes
    // deno-lint-ignore no-control-regex
    : bytes.replace(/[\0-\x1f]/g, "").replace(/[ \x7f-\xff]/g, percent);
}

function percent(char: string): string {
  return `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
}
