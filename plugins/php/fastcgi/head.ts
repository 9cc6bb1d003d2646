/**
 * The head of PHP's CGI response: header lines up to a blank one.
 *
 * Source: RFC 3875, section 6.3, and what PHP's CGI server API writes.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { CoreError } from "../../../core/error.ts";

export interface ResponseHead {
  /** 200 to 599. */
  readonly status: number;
  /** As PHP sent it; may be empty. */
  readonly reason: string;
  /** In PHP's order, `Status` taken out, one entry a line. Each character of a value is one byte. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

export interface HeadOptions {
  /** Bytes all heads of a response may have together; 128 KiB when absent. */
  readonly maxBytes?: number;
  /** Receives heads of status 1xx (early hints), which come before the real one. */
  readonly onInterim?: (head: ResponseHead) => void;
}

/**
 * Reads the head from chunks cut anywhere. Lines end in CRLF or LF. `Location` without `Status` is a 302: PHP has no local
 * redirects. A status line (`cgi.rfc2616_headers = 1`) is read as `Status`.
 *
 * A 1xx head is followed by another head, as in HTTP. PHP itself sends one head only; a script that sets a 1xx status
 * and then prints a page is answered with 502, since no client could read that. 101 is refused: a FastCGI response cannot
 * become another protocol.
 *
 * Every error is a `CoreError` of status 502: `PHP_HEAD_TOO_LARGE`, `PHP_HEAD_MALFORMED`, `PHP_STATUS_INVALID`,
 * `PHP_HEAD_MISSING`.
 *
 * @example
 * ```ts
 * const parser = new HeadParser();
 * onStdout(bytes) {
 *   const body = parser.head === undefined ? parser.push(bytes) : bytes;
 *   if (body !== undefined) relay(parser.head, body);
 * }
 * ```
 */
export class HeadParser {
  readonly #max: number;
  readonly #onInterim: ((head: ResponseHead) => void) | undefined;
  #head: ResponseHead | undefined;
  #spent = 0;
  #held: Buffer | undefined;
  #length = 0;
  #line = 0;
  #scanned = 0;

  constructor(options: HeadOptions = {}) {
    this.#max = options.maxBytes ?? 128 * 1024;
    this.#onInterim = options.onInterim;
  }

  /** The head, once it is complete. */
  get head(): ResponseHead | undefined {
    return this.#head;
  }

  /**
   * Takes bytes of the head. Returns undefined while more are needed, else the bytes after the head (perhaps none),
   * a view of `chunk`. Call it no more then.
   */
  push(chunk: Uint8Array): Uint8Array | undefined {
    while (chunk.byteLength > 0) {
      const before = this.#length;
      const bytes = before === 0 ? asBuffer(chunk) : this.#hold(chunk);
      const end = this.#findEnd(bytes);
      if (this.#spent + (end < 0 ? bytes.byteLength : end) > this.#max) throw this.#tooLarge();
      if (end < 0) {
        if (before === 0) this.#hold(chunk);
        return undefined;
      }
      const head = parseHead(bytes.toString("latin1", 0, this.#line));
      const rest = chunk.subarray(end - before);
      this.#held = undefined;
      if (head.status >= 200) {
        this.#head = head;
        return rest;
      }
      this.#spent += end;
      this.#length = this.#line = this.#scanned = 0;
      this.#onInterim?.(head);
      chunk = rest;
    }
    return undefined;
  }

  /** Call at the end of the response: throws when there was no whole head. */
  finish(): void {
    if (this.#head === undefined) {
      throw new CoreError("PHP_HEAD_MISSING", "Expected a response head from PHP, found the end of its output", {
        status: 502,
      });
    }
  }

  /** Returns the offset behind the blank line, or -1. `#line` is left at the start of the last line begun. */
  #findEnd(bytes: Uint8Array): number {
    for (;;) {
      const feed = bytes.indexOf(10, this.#scanned);
      if (feed < 0) {
        this.#scanned = bytes.byteLength;
        return -1;
      }
      this.#scanned = feed + 1;
      if (feed === this.#line || (feed === this.#line + 1 && bytes[this.#line] === 13)) return feed + 1;
      this.#line = feed + 1;
    }
  }

  /** Adds a chunk to what is held; returns all of it. At most one chunk more than the limit is ever held. */
  #hold(chunk: Uint8Array): Buffer {
    const length = this.#length + chunk.byteLength;
    if (this.#held === undefined || this.#held.byteLength < length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(length * 2, 1024));
      if (this.#held !== undefined) grown.set(this.#held.subarray(0, this.#length));
      this.#held = grown;
    }
    this.#held.set(chunk, this.#length);
    this.#length = length;
    return this.#held.subarray(0, length);
  }

  #tooLarge(): CoreError {
    return new CoreError(
      "PHP_HEAD_TOO_LARGE",
      `Expected at most ${this.#max} bytes of response headers from PHP, found more`,
      { status: 502 },
    );
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

const statusLine = /^HTTP\/\d(?:\.\d)? +/;
const statusValue = /^(\d{3})(?: ([^\r\0]*))?$/;
/** 1 for each byte a header name may have. */
const isToken = new Uint8Array(256);
for (const char of "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
  isToken[char.charCodeAt(0)] = 1;
}

/** `text` is made of whole lines; the blank one is not among them. */
function parseHead(text: string): ResponseHead {
  const headers: [string, string][] = [];
  let status: string | undefined;
  let location = false;
  for (let at = 0, feed = 0; at < text.length; at = feed + 1) {
    feed = text.indexOf("\n", at);
    const end = text.charCodeAt(feed - 1) === 13 ? feed - 1 : feed;
    let colon = at;
    while (isToken[text.charCodeAt(colon)] === 1) colon++;
    if (colon === at || text.charCodeAt(colon) !== 58) {
      const line = text.slice(at, end);
      const match = at === 0 ? statusLine.exec(line) : null;
      if (match === null) throw malformed(JSON.stringify(line.slice(0, 80)));
      status = line.slice(match[0].length);
      continue;
    }
    const name = text.slice(at, colon);
    const value = trim(text, colon + 1, end);
    if (value.includes("\r") || value.includes("\0")) throw malformed(`a CR or NUL in the value of ${name}`);
    const length = colon - at;
    if (length === 6 && name.toLowerCase() === "status") {
      status ??= value;
      continue;
    }
    if (length === 8 && !location) location = name.toLowerCase() === "location";
    headers.push([name, value]);
  }
  if (status === undefined) return { status: location ? 302 : 200, reason: location ? "Found" : "OK", headers };
  const match = statusValue.exec(status);
  const code = match === null ? 0 : Number(match[1]);
  if (code < 100 || code > 599 || code === 101) {
    throw new CoreError(
      "PHP_STATUS_INVALID",
      `Expected a status of 100 to 599 other than 101 from PHP, found ${JSON.stringify(status.slice(0, 80))}`,
      { status: 502 },
    );
  }
  return { status: code, reason: match![2] ?? "", headers };
}

/** Drops spaces and tabs at both ends; `String.trim` would also take bytes such as 0xA0. */
function trim(text: string, from: number, end: number): string {
  while (from < end && isBlank(text.charCodeAt(from))) from++;
  while (end > from && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(from, end);
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}

function malformed(found: string): CoreError {
  return new CoreError("PHP_HEAD_MALFORMED", `Expected header lines "Name: value" from PHP, found ${found}`, {
    status: 502,
  });
}
