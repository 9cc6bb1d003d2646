/**
 * One plain HTTP/1.1 exchange over a socket of its own, counted to the byte.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { connect } from "node:net";

export interface Target {
  readonly port: number;
  readonly path: string;
  readonly host?: string | undefined;
}

export interface Probe {
  readonly status: number;
  /** Head and body as they came over the wire: what wrk counts. */
  readonly wireBytes: number;
  readonly body: Buffer;
  readonly sha256: string;
  /** From the moment the request was written, as wrk measures. */
  readonly ms: number;
}

export interface Parsed {
  readonly status: number;
  readonly length: number;
  readonly body: Buffer;
}

/** The first whole response in `data`, or nothing if it has not all come yet. */
export function parseResponse(data: Buffer, closed: boolean): Parsed | undefined {
  const headEnd = data.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const head = data.toString("latin1", 0, headEnd);
  const status = Number(head.slice(9, 12));
  const from = headEnd + 4;
  const length = /^content-length:\s*(\d+)/im.exec(head)?.[1];
  if (length !== undefined) {
    const to = from + Number(length);
    return data.length < to ? undefined : { status, length: to, body: data.subarray(from, to) };
  }
  if (!/^transfer-encoding:.*chunked/im.test(head)) {
    return closed ? { status, length: data.length, body: data.subarray(from) } : undefined;
  }
  const parts: Buffer[] = [];
  let at = from;
  for (;;) {
    const lineEnd = data.indexOf("\r\n", at);
    if (lineEnd < 0) return undefined;
    const size = parseInt(data.toString("latin1", at, lineEnd), 16);
    const next = lineEnd + 2 + size + 2;
    if (data.length < next) return undefined;
    if (size === 0) return { status, length: next, body: Buffer.concat(parts) };
    parts.push(data.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = next;
  }
}

/** Sends one request and waits for the whole answer; rejects after `timeoutMs`. */
export function probe(target: Target, timeoutMs = 30_000): Promise<Probe> {
  return new Promise((resolve, reject) => {
    let data: Buffer = Buffer.alloc(0);
    let start = 0;
    const socket = connect({ host: "127.0.0.1", port: target.port });
    const fail = (why: string) => {
      socket.destroy();
      reject(new Error(`GET http://127.0.0.1:${target.port}${target.path}: ${why}`));
    };
    const timer = setTimeout(() => fail(`no answer within ${timeoutMs} ms`), timeoutMs);
    const look = (closed: boolean) => {
      let response: Parsed | undefined;
      try {
        response = parseResponse(data, closed);
      } catch (error) {
        return fail(String(error));
      }
      if (response === undefined) return;
      const ms = performance.now() - start;
      clearTimeout(timer);
      socket.destroy();
      const sha256 = createHash("sha256").update(response.body).digest("hex");
      resolve({ status: response.status, wireBytes: response.length, body: response.body, sha256, ms });
    };
    socket.setNoDelay(true);
    socket.on("connect", () => {
      start = performance.now();
      socket.write(`GET ${target.path} HTTP/1.1\r\nHost: ${target.host ?? `127.0.0.1:${target.port}`}\r\n\r\n`);
    });
    socket.on("data", (chunk: Buffer) => {
      data = Buffer.concat([data, chunk]);
      look(false);
    });
    socket.on("end", () => look(true));
    socket.on("error", (error) => {
      clearTimeout(timer);
      fail(error.message);
    });
    socket.on("close", () => {
      clearTimeout(timer);
      reject(new Error(`GET http://127.0.0.1:${target.port}${target.path}: closed before the whole answer came`));
    });
  });
}

/** Probes until `calm` answers in a row came within `limitMs`: nothing is queued before us any more. */
export async function drained(target: Target, limitMs: number, calm = 5, deadlineMs = 60_000): Promise<void> {
  const end = performance.now() + deadlineMs;
  for (let row = 0; row < calm;) {
    if (performance.now() > end) {
      throw new Error(`${target.path} did not answer ${calm} times in a row within ${limitMs.toFixed(1)} ms`);
    }
    row = (await probe(target, deadlineMs)).ms <= limitMs ? row + 1 : 0;
  }
}
