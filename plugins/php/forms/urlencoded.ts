import { Buffer } from "node:buffer";
import type { FormPart } from "../worker/body.ts";
import { untilNul } from "./multipart.ts";

/**
 * The fields of an urlencoded form, as PHP reads them: only `&` parts them, one without `=` is empty, `%` without two hex
 * digits is itself, and names end at a NUL.
 */
export function urlencodedParts(raw: Uint8Array, maxInputVars: number): FormPart[] {
  const text = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).toString("latin1");
  const parts: FormPart[] = [];
  let count = 0;
  for (let at = 0; at < text.length && count++ <= maxInputVars;) {
    const and = text.indexOf("&", at);
    const end = and < 0 ? text.length : and;
    const pair = text.slice(at, end);
    at = end + 1;
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const name = equals < 0 ? pair : pair.slice(0, equals);
    const value = equals < 0 ? "" : decoded(pair.slice(equals + 1));
    parts.push({ kind: "field", name: untilNul(decoded(name)), value });
  }
  return parts;
}

function decoded(text: string): string {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
  if (!spaced.includes("%")) return spaced;
  return spaced.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
}
