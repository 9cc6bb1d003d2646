/**
 * A request body as Goridge workers want it.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import type { FormPart, RequestBody } from "../worker/body.ts";
import { textOf } from "./text.ts";
import { Branch } from "./tree.ts";

/** What the frame carries. */
export interface FrameBody {
  /** The bytes, or the file they are to be read from. */
  readonly source: Uint8Array | { readonly path: string; readonly length: number };
  /** Bytes. */
  readonly length: number;
  /** Whether the bytes are a tree of form fields in JSON. */
  readonly parsed: boolean;
  /** The tree of uploaded files in JSON, when there are any. */
  readonly uploads: string | undefined;
}

const none: FrameBody = { source: new Uint8Array(0), length: 0, parsed: false, uploads: undefined };

/**
 * Forms become a tree in JSON, `{}` when it is empty; other bodies stay as they are. `HEAD` and `OPTIONS` have none.
 *
 * @throws CoreError `FORM_NAMES_CLASH` (status 400), when a field is both a value and a list
 */
export function frameBody(method: string, body: RequestBody | undefined): FrameBody {
  if (body === undefined || method === "HEAD" || method === "OPTIONS") return none;
  if (body.kind === "bytes") {
    return { source: body.bytes, length: body.bytes.byteLength, parsed: false, uploads: undefined };
  }
  if (body.kind === "file") return { source: body, length: body.length, parsed: false, uploads: undefined };
  const fields = new Branch();
  let files: Branch | undefined;
  for (const part of body.parts) {
    const name = textOf(part.name);
    if (part.kind === "field") fields.put(name, JSON.stringify(textOf(part.value)));
    else (files ??= new Branch()).put(name, upload(part));
  }
  const source = Buffer.from(fields.toObject());
  return { source, length: source.byteLength, parsed: true, uploads: files?.toObject() };
}

function upload({ filename, mime, size, error, path }: Extract<FormPart, { kind: "file" }>): string {
  const name = textOf(filename.slice(Math.max(filename.lastIndexOf("/"), filename.lastIndexOf("\\")) + 1));
  return JSON.stringify({ name, mime: textOf(mime), size, error, tmpName: path });
}
