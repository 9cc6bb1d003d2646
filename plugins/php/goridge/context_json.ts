/**
 * The JSON codec: what every worker library speaks.
 *
 * JSON is text: bytes that are not UTF-8 become the characters they are in Latin-1.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { RequestContext } from "./context.ts";
import { bytesOf, textOf } from "./text.ts";

const quote = JSON.stringify as (text: string) => string;

/** The context of a request, as text to write in UTF-8. */
export function jsonContext(c: RequestContext): string {
  let headers = "", cookies = "", attributes = "";
  for (const [name, value] of c.headers) headers += `${headers && ","}"${name}":[${quote(textOf(value))}]`;
  for (const [name, value] of c.cookies) cookies += `${cookies && ","}${quote(textOf(name))}:${quote(textOf(value))}`;
  for (const name in c.attributes) attributes += `${attributes && ","}${quote(name)}:${quote(c.attributes[name]!)}`;
  return `{"remoteAddr":${quote(c.remoteAddr)},"protocol":${quote(c.protocol)},"method":${quote(c.method)},` +
    `"uri":${quote(c.uri)},"headers":{${headers}},"cookies":{${cookies}},"rawQuery":${quote(c.rawQuery)},` +
    `"parsed":${c.parsed},"uploads":${c.uploads ?? "null"},"attributes":{${attributes}}}`;
}

/** What the JSON head of an answer says; values are byte strings. */
export type JsonHead =
  | { readonly kind: "head"; readonly status: number; readonly headers: readonly (readonly [string, string])[] }
  /** The worker asks to be replaced. */
  | { readonly kind: "stop" }
  | { readonly kind: "malformed" };

const malformed: JsonHead = { kind: "malformed" };

export function readJsonHead(bytes: Uint8Array): JsonHead {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"));
  } catch {
    return malformed;
  }
  if (typeof value !== "object" || value === null) return malformed;
  const { status, headers, stop } = value as { status?: unknown; headers?: unknown; stop?: unknown };
  if (status === undefined) return stop === true ? { kind: "stop" } : malformed;
  if (typeof status !== "number") return malformed;
  const pairs: (readonly [string, string])[] = [];
  // PHP's json_encode writes an empty array of headers as a list.
  if (typeof headers === "object" && headers !== null) {
    for (const [name, values] of Object.entries(headers)) {
      for (const one of Array.isArray(values) ? values : [values]) {
        if (typeof one !== "string" && typeof one !== "number") return malformed;
        pairs.push([bytesOf(name), bytesOf(String(one))]);
      }
    }
  }
  return { kind: "head", status, headers: pairs };
}
