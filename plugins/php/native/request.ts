/**
 * From a request to its frame.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { CoreError } from "../../../core/error.ts";
import type { Exchange } from "../../../core/exchange.ts";
import type { Script } from "../resolve.ts";
import { constantVars, requestVars, scriptVars } from "../server_vars.ts";
import { systemTimes, type Times } from "../times.ts";
import type { FormBody, RequestBody } from "../worker/body.ts";
import type { WorkerRequest } from "../worker/handle.ts";
import { HEADER, MAX_PAYLOAD, ONE_WRITE, REQUEST, writeHeader } from "./frame.ts";
import { phpArray, phpInt, phpList, phpString } from "./php_serialize.ts";

/** Writes the REQUEST frame of request `number`: bytes to be written one after the other, which nobody changes. */
export type RequestEncoder = (request: WorkerRequest, number: number) => readonly Uint8Array[];

/** Scripts whose variables are kept; when there are more, all are forgotten. */
const keptScripts = 512;

const keys = {
  post: phpString("post"),
  files: phpString("files"),
  input: phpString("input"),
};

/**
 * Makes an encoder. What only the server or the script decides is written once. `software` is `name/version`.
 *
 * The encoder throws `PHP_BODY_TOO_LARGE` (413) for what has no room in a frame.
 */
export function requestEncoder(software: string, times: Times = systemTimes): RequestEncoder {
  // Texts that grow are cheaper here than a buffer that is written to: they are turned into bytes in one go.
  let values = "";
  let count = 0;
  /** Mostly a request has the very variables of the one before. */
  const last: string[] = [];
  let names = "", named = 0;
  const sink = (name: string, value: string): void => {
    if (last[count] !== name) {
      last[count] = name;
      named = 0;
    }
    count++;
    values = values + (value.includes("\0") ? value.replaceAll("\0", " ") : value) + "\0";
  };
  const scripts = new Map<Script, string>();
  /** How many variables only the server or the script decides. */
  let fixedCount = 0;

  return ({ x, script, body }, number) => {
    count = 0;
    let fixed = scripts.get(script);
    values = "";
    if (fixed === undefined) {
      constantVars(sink, software);
      scriptVars(sink, script);
      sink("PHP_SELF", utf8(script.scriptName + script.pathInfo));
      fixed = values;
      fixedCount = count;
      if (scripts.size >= keptScripts) scripts.clear();
      scripts.set(script, fixed);
    } else {
      values = fixed;
      count = fixedCount;
    }
    requestVars(sink, x, body === undefined ? none : { length: lengthOf(body) });
    if (named !== count) {
      named = last.length = count;
      names = last.join("\n");
    }
    const head = values + x.id + "\0" + timeLeft(x, times) + "\0" + names;
    return body === undefined ? [frame(head, number, 0)] : withBody(head, body, number);
  };
}

const none = { length: 0 };

/** Ms, or nothing where there is no deadline. */
function timeLeft({ deadline }: Exchange, times: Times): string {
  return deadline === Infinity ? "" : String(Math.max(0, Math.round(deadline - times.monotonic())));
}

/** Header, length of the head, and the head, with room for so many bytes behind it that `payload` counts already. */
function frame(head: string, number: number, payload: number, room = 0): Buffer {
  // As many bytes in UTF-8 as characters: it is ASCII, as nearly always.
  const text = Buffer.byteLength(head) === head.length ? head : byteString(head);
  const length = 4 + text.length + payload;
  if (length > MAX_PAYLOAD) {
    throw new CoreError("PHP_BODY_TOO_LARGE", `Expected a request of at most 2 GiB in memory, found ${length} bytes`, {
      status: 413,
    });
  }
  const start = HEADER + 4;
  const out = Buffer.allocUnsafe(start + text.length + room);
  writeHeader(out, 0, length, REQUEST, 0, number);
  out.writeUInt32LE(text.length, HEADER);
  out.write(text, start, "latin1");
  return out;
}

function withBody(head: string, body: RequestBody, number: number): readonly Uint8Array[] {
  let entries = "", count = 0;
  let bytes: Uint8Array = empty;
  if (body.kind === "bytes") bytes = body.bytes;
  else if (body.kind === "file") {
    entries = keys.input + phpString(utf8(body.path));
    count = 1;
  } else {
    bytes = body.raw ?? empty;
    ({ text: entries, count } = formEntries(body));
  }
  const more = count === 0 ? "" : phpArray(count, entries);
  const payload = 4 + more.length + bytes.byteLength;
  const together = HEADER + 4 + head.length + payload <= ONE_WRITE;
  const room = payload - (together ? 0 : bytes.byteLength);
  const out = frame(head, number, payload, room);
  const at = out.byteLength - room;
  out.writeUInt32LE(more.length, at);
  out.write(more, at + 4, "latin1");
  if (!together) return bytes.byteLength === 0 ? [out] : [out, bytes];
  if (bytes.byteLength > 0) out.set(bytes, at + 4 + more.length);
  return [out];
}

const empty = new Uint8Array(0);
const wide = /[^\0-\xff]/;

/** A value that is no byte string goes as UTF-8. */
function byteString(head: string): string {
  return wide.test(head) ? head.split("\0").map((text) => wide.test(text) ? utf8(text) : text).join("\0") : head;
}

function lengthOf(body: RequestBody): number {
  return body.kind === "bytes" ? body.bytes.byteLength : body.length;
}

/** Whether the payload of a REQUEST is of a HEAD. */
export function isHeadRequest(payload: Uint8Array): boolean {
  const bytes = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  const values = bytes.toString("latin1", 4, 4 + bytes.readUInt32LE(0)).split("\0");
  return values[values.at(-1)!.split("\n").indexOf("REQUEST_METHOD")] === "HEAD";
}

function formEntries(form: FormBody): { readonly text: string; readonly count: number } {
  const fields: string[] = [];
  const files: string[] = [];
  for (const part of form.parts) {
    if (part.kind === "field") fields.push(phpList([phpString(part.name), phpString(part.value)]));
    else {
      files.push(phpList([
        phpString(part.name),
        phpString(part.filename),
        phpString(part.mime),
        phpString(utf8(part.path)),
        phpInt(part.error),
        phpInt(part.size),
      ]));
    }
  }
  const text = keys.post + phpList(fields);
  return files.length === 0 ? { text, count: 1 } : { text: text + keys.files + phpList(files), count: 2 };
}

/** A path is text here, and bytes to PHP. */
function utf8(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}
