import { CoreError } from "../../../core/error.ts";
import { childDied, coded, protocol, refused } from "./errors.ts";
import type { ConnectionOwner, FcgiHandler, Progress } from "./handler.ts";
import { END_REQUEST, RecordReader, STDERR, STDOUT } from "./record.ts";
import { encodeRequest, type FcgiRequest } from "./request.ts";
import type { FcgiSocket } from "./socket.ts";
import { StdinPump } from "./stdin.ts";

/**
 * One keep-alive FastCGI connection, which owns one php-fpm child, and carries one request at a time.
 *
 * A request that fails takes the connection with it, except one that could not be encoded. The other errors, all of status 502
 * unless noted: `PHP_CHILD_DIED`, `PHP_PROTOCOL`, `PHP_OVERLOADED` (503), `PHP_REFUSED`, `PHP_HANDLER_FAILED` (500),
 * `PHP_BODY_SHORT`, `PHP_BODY_LONG`, `PHP_BODY_FAILED` (400), or what the body stream failed with.
 */
export class Connection {
  readonly #socket: FcgiSocket;
  readonly #owner: ConnectionOwner;
  readonly #reader = new RecordReader({ onRecord: (type, id, content) => this.#onRecord(type, id, content) });
  #state: "idle" | "busy" | "closed" = "idle";
  #handler: FcgiHandler | undefined;
  #stdin: StdinPump | undefined;
  /** A new id for each request, so that a late record of an old one is noticed. */
  #id = 0;
  #served = 0;
  #answered = false;
  #paused = false;
  #appStatus = -1;
  #ended = false;
  #unclean = false;

  constructor(socket: FcgiSocket, owner: ConnectionOwner) {
    this.#socket = socket;
    this.#owner = owner;
    socket.on("data", (chunk) => this.#onData(chunk));
    socket.on("drain", () => this.#stdin?.drained());
    socket.on("end", () => this.#onLost(undefined));
    socket.on("close", () => this.#onLost(undefined));
    socket.on("error", (cause) => this.#onLost(cause));
  }

  /** `idle` when a request can be sent. */
  get state(): "idle" | "busy" | "closed" {
    return this.#state;
  }

  /** Whether a part of the request's body is still to be sent: closing now would leave PHP with half of it. */
  get sending(): boolean {
    return this.#stdin?.complete === false;
  }

  /** Requests sent so far. */
  get served(): number {
    return this.#served;
  }

  /** Whether a byte of the response to the current request has come. */
  get answered(): boolean {
    return this.#answered;
  }

  /**
   * Sends a request. Whatever goes wrong is told to `handler.onFail`; `PHP_PARAMS_TOO_LARGE` (431), `PHP_LENGTH_REQUIRED`
   * (411) and `PHP_CONNECTION_BUSY` (500) leave the connection as it was.
   */
  send(request: FcgiRequest, handler: FcgiHandler): void {
    if (this.#state === "closed") return handler.onFail(childDied("before the request was sent"), "unsent");
    if (this.#state === "busy") {
      const text = "Expected one request at a time on a connection; wait for onEnd before the next";
      return handler.onFail(new CoreError("PHP_CONNECTION_BUSY", text, { status: 500 }), "unsent");
    }
    const id = this.#id % 65_535 + 1;
    let encoded;
    try {
      encoded = encodeRequest(id, request);
    } catch (error) {
      return handler.onFail(coded(error), "unsent");
    }
    this.#id = id;
    this.#state = "busy";
    this.#handler = handler;
    this.#answered = false;
    this.#served++;
    const flowing = this.#socket.write(encoded.bytes);
    if (encoded.rest === undefined) return;
    const port = {
      write: (bytes: Uint8Array) => this.#socket.write(bytes),
      fail: (error: CoreError) => this.#down(error, true),
    };
    this.#stdin = new StdinPump(id, encoded.rest.length, port, flowing);
    void this.#stdin.run(encoded.rest);
  }

  /** Stops reading, so that PHP stops when the buffers between are full. What has been read already still comes. */
  pause(): void {
    if (this.#state !== "busy" || this.#paused) return;
    this.#paused = true;
    this.#socket.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    if (this.#state !== "closed") this.#socket.resume();
  }

  /**
   * Closes the connection: the only way to abort, since PHP ignores ABORT_REQUEST. The owner is not told. The handler of a
   * running request is told only when there is an `error` to tell it. The child runs on until it prints: kill it first
   * when that matters.
   */
  destroy(error?: CoreError): void {
    if (this.#state === "closed") return void this.#socket.destroy();
    const progress = this.#progress();
    const handler = this.#close();
    if (error !== undefined) handler?.onFail(error, progress);
  }

  #onRecord(type: number, id: number, content: Uint8Array): void {
    if (this.#state === "closed") return;
    if (this.#state === "idle" || this.#ended) {
      this.#unclean = true;
      return;
    }
    if (id !== this.#id) throw protocol(`a record of request ${id} while ${this.#id} runs`);
    if (type === STDOUT) {
      if (content.byteLength > 0) this.#handle("onStdout", content);
    } else if (type === STDERR) {
      if (content.byteLength > 0) this.#handle("onStderr", content);
    } else if (type === END_REQUEST) {
      if (content.byteLength < 5) throw protocol(`an END_REQUEST of ${content.byteLength} bytes`);
      const status = content[4]!;
      if (status !== 0) throw refused(status);
      this.#appStatus = content[0]! << 24 | content[1]! << 16 | content[2]! << 8 | content[3]!;
      this.#ended = true;
    } else throw protocol(`record type ${type}`);
  }

  #handle(call: "onStdout" | "onStderr", content: Uint8Array): void {
    try {
      this.#handler![call](content);
    } catch (cause) {
      if (cause instanceof CoreError) throw cause;
      throw new CoreError("PHP_HANDLER_FAILED", `Cannot take the response of PHP: ${call} threw`, {
        status: 500,
        cause,
      });
    }
  }

  #onData(chunk: Uint8Array): void {
    if (this.#state === "closed") return;
    const idle = this.#state === "idle";
    if (!idle) this.#answered = true;
    try {
      this.#reader.push(chunk);
    } catch (error) {
      return this.#down(coded(error), !idle);
    }
    if (!this.#reader.fresh && (idle || this.#ended)) this.#unclean = true;
    if (idle) {
      if (this.#unclean) this.#down(protocol("bytes while no request runs"), false);
    } else if (this.#ended) this.#finish();
  }

  #finish(): void {
    const handler = this.#handler!;
    this.#ended = false;
    if (this.#unclean) this.#retire(protocol("bytes behind the end of a response"));
    else if (this.#stdin?.complete === false) {
      this.#retire(new CoreError("PHP_BODY_UNREAD", "PHP answered without reading the whole request body"));
    } else {
      this.#state = "idle";
      this.#handler = undefined;
      this.#stdin?.cancel();
      this.#stdin = undefined;
      this.resume();
    }
    handler.onEnd(this.#appStatus);
  }

  /** The response is good, but the connection can carry no other. */
  #retire(error: CoreError): void {
    this.#handler = undefined;
    this.#down(error, false);
  }

  #onLost(cause: Error | undefined): void {
    if (this.#state === "closed") return;
    const when = this.#state === "idle"
      ? "while idle"
      : this.#answered
      ? "in the middle of its response"
      : "before it answered";
    this.#down(childDied(when, cause), false);
  }

  #down(error: CoreError, running: boolean): void {
    if (this.#state === "closed") return;
    const progress = running ? "touched" : this.#progress();
    this.#state = "closed";
    try {
      this.#owner.onDown(error, running);
    } finally {
      this.#close()?.onFail(error, progress);
    }
  }

  /** Returns the handler that is still waiting. */
  #close(): FcgiHandler | undefined {
    this.#state = "closed";
    const handler = this.#handler;
    this.#handler = undefined;
    this.#stdin?.cancel();
    this.#stdin = undefined;
    this.#socket.destroy();
    return handler;
  }

  #progress(): Progress {
    return this.#answered || this.#served < 2 ? "touched" : "untouched";
  }
}
