/**
 * The head of a worker's answer, in either codec.
 *
 * @module
 */
import { CoreError } from "../../../core/error.ts";
import type { ResponseHead } from "../fastcgi/head.ts";
import { readJsonHead } from "./context_json.ts";
import { readProtoHead } from "./context_proto.ts";

const OPEN_BRACE = 0x7b;
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const breaks = /[\r\n\0]/;

/**
 * Reads a head, whose first byte tells its codec: `{` is JSON. Returns `stop` for a worker that asks to be replaced.
 *
 * @throws CoreError of status 502: `PHP_HEAD_MISSING`, `PHP_HEAD_MALFORMED`, `PHP_STATUS_INVALID`
 */
export function readAnswerHead(bytes: Uint8Array): ResponseHead | "stop" {
  if (bytes.byteLength === 0) {
    throw new CoreError("PHP_HEAD_MISSING", "Expected a response head from the worker, found none", { status: 502 });
  }
  let head: { readonly status: number; readonly headers: ResponseHead["headers"] } | undefined;
  if (bytes[0] === OPEN_BRACE) {
    const json = readJsonHead(bytes);
    if (json.kind === "stop") return "stop";
    if (json.kind === "head") head = json;
  } else head = readProtoHead(bytes);
  if (head === undefined) {
    const text = JSON.stringify(new TextDecoder().decode(bytes.subarray(0, 200)));
    throw malformed(`a response head in JSON or protobuf from the worker, found ${text}`);
  }
  const { status, headers } = head;
  if (!Number.isInteger(status) || status < 100 || status > 599 || status === 101) {
    throw new CoreError(
      "PHP_STATUS_INVALID",
      `Expected a status of 100 to 599 other than 101 from the worker, found ${status}`,
      { status: 502 },
    );
  }
  for (const [name, value] of headers) {
    if (!token.test(name)) throw malformed(`header names from the worker, found ${JSON.stringify(name.slice(0, 80))}`);
    if (breaks.test(value)) throw malformed(`header values of one line from the worker, found a break in ${name}`);
  }
  return { status, reason: "", headers };
}

function malformed(text: string): CoreError {
  return new CoreError("PHP_HEAD_MALFORMED", `Expected ${text}`, { status: 502 });
}
