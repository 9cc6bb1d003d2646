/**
 * One FastCGI request on a connection of its own, for tests: the real client is tested elsewhere.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { connect } from "node:net";

export interface Answer {
  readonly head: string;
  readonly body: string;
  readonly stderr: string;
  /** False when the connection closed without an END_REQUEST. */
  readonly ended: boolean;
}

export type Vars = readonly (readonly [name: string, value: string])[];

/** Asks the php-fpm on a unix socket. Variables are byte strings. */
export function askFpm(socketPath: string, vars: Vars, body: Uint8Array = new Uint8Array()): Promise<Answer> {
  const params = Buffer.concat(
    vars.map(([name, value]) => pair(Buffer.from(name, "latin1"), Buffer.from(value, "latin1"))),
  );
  const request = Buffer.concat([
    record(1, Buffer.from([0, 1, 0, 0, 0, 0, 0, 0])),
    record(4, params),
    record(4, Buffer.alloc(0)),
    ...(body.length > 0 ? [record(5, Buffer.from(body))] : []),
    record(5, Buffer.alloc(0)),
  ]);
  return new Promise((done, fail) => {
    const chunks: Uint8Array[] = [];
    const socket = connect(socketPath);
    let connected = false;
    socket.on("connect", () => {
      connected = true;
      socket.write(request);
    });
    socket.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    // A child that dies resets the connection: then the answer is what came before.
    socket.on("error", (error) => connected || fail(error));
    socket.on("close", () => done(read(Buffer.concat(chunks))));
  });
}

function record(type: number, content: Buffer): Buffer {
  if (content.length > 65535) throw new Error("test record too long");
  return Buffer.concat([Buffer.from([1, type, 0, 1, content.length >> 8, content.length & 255, 0, 0]), content]);
}

function pair(name: Buffer, value: Buffer): Buffer {
  return Buffer.concat([length(name.length), length(value.length), name, value]);
}

function length(n: number): Buffer {
  return n < 128 ? Buffer.from([n]) : Buffer.from([(n >>> 24) | 128, (n >>> 16) & 255, (n >>> 8) & 255, n & 255]);
}

function read(bytes: Buffer): Answer {
  let out = "";
  let stderr = "";
  let ended = false;
  for (let at = 0; at + 8 <= bytes.length;) {
    const size = bytes.readUInt16BE(at + 4);
    const text = bytes.toString("latin1", at + 8, at + 8 + size);
    if (bytes[at + 1] === 6) out += text;
    if (bytes[at + 1] === 7) stderr += text;
    if (bytes[at + 1] === 3) ended = true;
    at += 8 + size + (bytes[at + 6] ?? 0);
  }
  const blank = out.indexOf("\r\n\r\n");
  return { head: out.slice(0, blank), body: out.slice(blank + 4), stderr, ended };
}

/** The variables of a plain GET of one script. */
export function getVars(script: string): Vars {
  return [["SCRIPT_FILENAME", script], ["SCRIPT_NAME", "/t.php"], ["REQUEST_METHOD", "GET"], ["QUERY_STRING", ""]];
}
