/**
 * From a request to its frame.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { CoreError } from "../../../core/error.ts";
import type { Script } from "../resolve.ts";
import { constantVars, requestVars, scriptVars } from "../server_vars.ts";
import { requestDeadline, systemTimes, type Times } from "../times.ts";
import type { FormBody, RequestBody } from "../worker/body.ts";
import type { WorkerRequest } from "../worker/handle.ts";
import { HEADER, MAX_PAYLOAD, ONE_WRITE, REQUEST, writeHeader } from "./frame.ts";
import { phpArray, PhpEntries, phpFloat, phpInt, phpList, phpString } from "./php_serialize.ts";

/** Writes the REQUEST frame of request `number`: bytes to be written one after the other, which nobody changes. */
export type RequestEncoder = (request: WorkerRequest, number: number) => readonly Uint8Array[];

/** Scripts whose variables are kept; when there are more, all are forgotten. */
const keptScripts = 512;

const keys = {
  server: phpString("server"),
  get: phpString("get"),
  post: phpString("post"),
  files: phpString("files"),
  input: phpString("input"),
  id: phpString("id"),
};

/**
 * Makes an encoder. What only the server or the script decides is written once. `software` is `name/version`.
 *
 * The encoder throws `PHP_BODY_TOO_LARGE` (413) for what has no room in a frame.
 */
export function requestEncoder(software: string, times: Times = systemTimes): RequestEncoder {
  const entries = new PhpEntries();
  constantVars(entries.add, software);
  const constant = entries.take();
  const scripts = new Map<Script, { readonly text: string; readonly count: number }>();

  return ({ x, script, body }, number) => {
    let fixed = scripts.get(script);
    if (fixed === undefined) {
      scriptVars(entries.add, script);
      entries.add("PHP_SELF", utf8(script.scriptName + script.pathInfo));
      const own = entries.take();
      fixed = { text: constant.text + own.text, count: constant.count + own.count };
      if (scripts.size >= keptScripts) scripts.clear();
      scripts.set(script, fixed);
    }
    requestVars(entries.add, x, { length: lengthOf(body) });
    const now = times.wall();
    entries.addWritten("REQUEST_TIME", phpInt(Math.floor(now / 1000)));
    entries.addWritten("REQUEST_TIME_FLOAT", phpFloat(now / 1000));
    entries.addWritten("REQUEST_DEADLINE", phpFloat(requestDeadline(x, times)));
    const own = entries.take();

    let count = 2;
    let head = keys.server + phpArray(fixed.count + own.count, fixed.text + own.text) + keys.id + phpString(x.id);
    if (x.query !== "") {
      head += keys.get + phpString(x.query);
      count++;
    }
    let bytes: Uint8Array = empty;
    if (body?.kind === "bytes") bytes = body.bytes;
    else if (body?.kind === "file") {
      head += keys.input + phpString(utf8(body.path));
      count++;
    } else if (body !== undefined) {
      bytes = body.raw ?? empty;
      const form = formEntries(body);
      head += form.text;
      count += form.count;
    }
    return frame(phpArray(count, head), bytes, number);
  };
}

const empty = new Uint8Array(0);

function frame(head: string, body: Uint8Array, number: number): readonly Uint8Array[] {
  const start = HEADER + 4;
  const payload = 4 + head.length + body.byteLength;
  if (payload > MAX_PAYLOAD) {
    throw new CoreError("PHP_BODY_TOO_LARGE", `Expected a request of at most 2 GiB in memory, found ${payload} bytes`, {
      status: 413,
    });
  }
  const together = HEADER + payload <= ONE_WRITE;
  const out = Buffer.allocUnsafe(start + head.length + (together ? body.byteLength : 0));
  writeHeader(out, 0, payload, REQUEST, 0, number);
  out.writeUInt32LE(head.length, HEADER);
  out.write(head, start, "latin1");
  if (!together) return body.byteLength === 0 ? [out] : [out, body];
  if (body.byteLength > 0) out.set(body, start + head.length);
  return [out];
}

function lengthOf(body: RequestBody | undefined): number {
  return body === undefined ? 0 : body.kind === "bytes" ? body.bytes.byteLength : body.length;
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
