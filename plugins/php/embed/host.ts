/**
 * A process that has PHP within it and speaks the native worker protocol: the server starts and replaces it like any other worker,
 * so a script that hangs or crashes costs that process and nothing else.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { connect, type Socket } from "node:net";
import process from "node:process";
import { keepMemory } from "../../../core/allocator.ts";
import {
  encodeFrame,
  FrameReader,
  GONE,
  HELLO,
  LAST,
  MAX_PAYLOAD,
  READY,
  REPLY,
  REQUEST,
  STOP,
} from "../native/frame.ts";
import { VERSION } from "../native/hello.ts";
import { phpArray, phpInt, phpString } from "../native/php_serialize.ts";
import { isHeadRequest } from "../native/request.ts";
import { loadPhpNode, type PhpNode, type PhpResponse } from "./php_node.ts";

/** What the server may send, and how much payload (bytes) each may have. */
const fromServer: ReadonlyMap<number, number> = new Map([[REQUEST, MAX_PAYLOAD], [GONE, 0], [STOP, 0]]);

/** Runs until the server asks for the end or has closed the connection; resolves with the exit code. */
export function runEmbedHost(env: Readonly<Record<string, string | undefined>> = process.env): Promise<number> {
  keepMemory();
  const { FAIRLEAD_SOCKET, FAIRLEAD_TOKEN, FAIRLEAD_PHP_NODE, FAIRLEAD_PHP } = env;
  if (!FAIRLEAD_SOCKET || !FAIRLEAD_TOKEN || !FAIRLEAD_PHP_NODE || !FAIRLEAD_PHP) {
    console.error('This is started by the server, for engine = "embed"; there is nothing to do by hand');
    return Promise.resolve(2);
  }
  const node = loadPhpNode(FAIRLEAD_PHP_NODE);
  // Scripts see the environment: what is between the server and us is not for them.
  for (const name of Object.keys(process.env)) if (name.startsWith("FAIRLEAD_")) delete process.env[name];
  const php = new node.Php({ docroot: `${FAIRLEAD_PHP}/runtime`, throwRequestErrors: false });
  return new Promise((ended) => {
    const socket = connect(FAIRLEAD_SOCKET);
    const host = new Host(socket, (payload) => php.handleRequest(requestOf(node, payload)), () => ended(0));
    socket.on("error", (error) => {
      console.error(`Cannot reach the server: ${error.message}`);
      ended(1);
    });
    socket.on("connect", () => host.greet(FAIRLEAD_TOKEN));
    socket.on("close", () => ended(0));
  });
}

/** One connection to the server. */
class Host {
  readonly #socket: Socket;
  readonly #run: (payload: Uint8Array) => Promise<PhpResponse>;
  readonly #end: () => void;
  #busy = false;
  #stopping = false;

  constructor(socket: Socket, run: (payload: Uint8Array) => Promise<PhpResponse>, end: () => void) {
    this.#socket = socket;
    this.#run = run;
    this.#end = end;
    const reader = new FrameReader({
      onReply() {},
      onFrame: (type, _flags, number, payload) => this.#onFrame(type, number, payload),
    }, fromServer);
    socket.on("data", (chunk) => reader.push(chunk as Uint8Array));
  }

  greet(token: string): void {
    const hello = phpArray(
      5,
      phpString("v") + phpInt(VERSION) + phpString("token") + phpString(token) + phpString("pid") +
        phpInt(process.pid) + phpString("php") + phpString("8") + phpString("sapi") + phpString("embed"),
    );
    this.#socket.write(encodeFrame(HELLO, 0, Buffer.from(hello, "latin1")));
  }

  #onFrame(type: number, number: number, payload: Uint8Array): void {
    if (type === REQUEST) void this.#answer(number, payload);
    else if (type === STOP) {
      this.#stopping = true;
      if (!this.#busy) this.#end();
    }
  }

  async #answer(number: number, payload: Uint8Array): Promise<void> {
    this.#busy = true;
    let bytes: Uint8Array;
    try {
      const response = await this.#run(payload);
      if (response.log.byteLength > 0) process.stderr.write(response.log);
      bytes = cgiOf(response);
    } catch (error) {
      console.error(error);
      bytes = Buffer.from(
        "Status: 500 Internal Server Error\r\nContent-Type: text/plain\r\n\r\nPHP failed; its log says why\n",
      );
    }
    this.#socket.write(encodeFrame(REPLY, number, bytes, LAST | READY));
    this.#busy = false;
    if (this.#stopping) this.#socket.end(this.#end);
  }
}

/**
 * The request for `runtime/embed.php`, which unpacks the server's own. Only the method is told, for the package leaves out the body of
 * a response to HEAD.
 */
function requestOf({ Headers, Request }: PhpNode, payload: Uint8Array): object {
  const headers = new Headers();
  headers.add("host", "localhost");
  headers.add(
    "fairlead-request",
    Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString("base64"),
  );
  return new Request({ method: isHeadRequest(payload) ? "HEAD" : "GET", url: "http://localhost/embed.php", headers });
}

/** The response as a CGI program prints it. */
function cgiOf({ status, headers, body }: PhpResponse): Uint8Array {
  let head = `Status: ${status}\r\n`;
  let typed = false;
  for (const [name, value] of headers.entries()) {
    // The package tells the type twice.
    const type = name.toLowerCase() === "content-type";
    if (type && typed) continue;
    typed ||= type;
    head += `${name}: ${value}\r\n`;
  }
  return Buffer.concat([Buffer.from(`${head}\r\n`), body]);
}
