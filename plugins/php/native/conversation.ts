/**
 * The talk with one PHP process on its connection, from its hello to its end. Pure but for the socket it is given.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { CoreError } from "../../../core/error.ts";
import { coded } from "../fastcgi/errors.ts";
import { HeadParser, type ResponseHead } from "../fastcgi/head.ts";
import type { FcgiSocket } from "../fastcgi/socket.ts";
import type { ReplySink } from "../reply_sink.ts";
import type { WorkerRequest } from "../worker/handle.ts";
import {
  CUT,
  EARLY,
  encodeFrame,
  FrameReader,
  GONE,
  LAST,
  LEAVING,
  LOG,
  malformed,
  READY,
  REPLY,
  STOP,
} from "./frame.ts";
import { type LogLine, readLogLine } from "./log_line.ts";
import type { RequestEncoder } from "./request.ts";

/** Told by a conversation. Synchronous; none may throw. */
export interface LinkEvents {
  /** The answer is whole: told to its sink just before, unless the request was cancelled. */
  onAnswered?(): void;
  /** It can take a request. Not told for the hello. */
  onReady?(): void;
  /** It will end after what runs. */
  onStopAsked?(): void;
  /** What it sent makes no sense. Nothing follows but `onClosed`. */
  onBroken(error: CoreError): void;
  /** A message for the log; told by `onLine` when absent. */
  onLog?(line: LogLine): void;
  onLine(text: string): void;
  /**
   * The connection is closed, and everything before has been told. The last call; none after `destroy`. `expected`: the process
   * was asked to end, or had said that it would, and owed no answer.
   */
  onClosed(expected: boolean): void;
}

/**
 * `idle`: it can be sent a request. `running`: its answer is not whole. `answered`: it is, and the process has not said yet
 * that it is free. `closed`: the connection is.
 */
export type LinkState = "idle" | "running" | "answered" | "closed";

/** Speaks with a process that has said its hello, and is ready. */
export class Conversation {
  readonly #socket: FcgiSocket;
  readonly #encode: RequestEncoder;
  readonly #events: LinkEvents;
  readonly #reader: FrameReader;
  #state: LinkState = "idle";
  /** Undefined when nobody listens to the answer any more. */
  #sink: ReplySink | undefined;
  #number = 0;
  /** Whether a byte of the final response has come. */
  #begun = false;
  #paused = false;
  #stopping = false;
  #leaving = false;
  #broken = false;
  #draining = false;

  /** `rest` is what came behind the hello. */
  constructor(socket: FcgiSocket, rest: Uint8Array, encode: RequestEncoder, events: LinkEvents) {
    this.#socket = socket;
    this.#encode = encode;
    this.#events = events;
    this.#reader = new FrameReader({
      onReply: (number, bytes) => this.#onReply(number, bytes),
      onFrame: (type, flags, number, payload) => this.#onFrame(type, flags, number, payload),
    });
    socket.on("data", (chunk) => this.#onData(chunk));
    socket.on("end", () => this.#onEnd());
    socket.on("close", () => this.#onEnd());
    socket.on("error", () => this.#onEnd());
    if (rest.byteLength > 0) queueMicrotask(() => this.#onData(rest));
  }

  get state(): LinkState {
    return this.#state;
  }

  /**
   * As `Worker.send`. On a connection that is lost already it fails as `unsent`.
   *
   * @throws CoreError `PHP_WORKER_BUSY` (500), and what the encoder throws
   */
  send(request: WorkerRequest, sink: ReplySink): void {
    if (this.#state === "closed") {
      const text = "The worker closed its connection before it was sent the request";
      return sink.onFail(new CoreError("PHP_WORKER_LEFT", text, { status: 503 }), "unsent");
    }
    if (this.#state !== "idle") {
      const text = "Expected a worker that is ready; wait for onReady before each request";
      throw new CoreError("PHP_WORKER_BUSY", text, { status: 500 });
    }
    const number = this.#number === 0xffff_ffff ? 1 : this.#number + 1;
    const pieces = this.#encode(request, number);
    this.#number = number;
    this.#state = "running";
    this.#sink = sink;
    this.#begun = false;
    for (let i = 0; i < pieces.length; i++) this.#socket.write(pieces[i]!);
  }

  pause(): void {
    if (this.#state !== "running" || this.#paused || this.#draining) return;
    this.#paused = true;
    this.#socket.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    if (this.#state !== "closed") this.#socket.resume();
  }

  /** The process has ended: what it wrote is read now, without regard to whoever takes it slowly. */
  drain(): void {
    this.#draining = true;
    this.resume();
  }

  /** As `Worker.cancel`. */
  cancel(): void {
    if (this.#state !== "running" || this.#sink === undefined) return;
    this.#sink = undefined;
    this.#socket.write(encodeFrame(GONE, this.#number));
    this.resume();
  }

  /** Asks the process to end once it is idle. */
  stop(): void {
    if (this.#state === "closed" || this.#stopping) return;
    this.#stopping = true;
    this.#socket.write(encodeFrame(STOP));
  }

  /** Closes the connection. Nothing is told any more. */
  destroy(): void {
    this.#state = "closed";
    this.#broken = true;
    this.#sink = undefined;
    this.#socket.destroy();
  }

  #onData(chunk: Uint8Array): void {
    if (this.#broken || this.#state === "closed") return;
    try {
      this.#reader.push(chunk);
    } catch (error) {
      if (this.#broken) return;
      this.#broken = true;
      this.#events.onBroken(coded(error));
    }
  }

  #onEnd(): void {
    if (this.#state === "closed") return;
    const expected = (this.#stopping || this.#leaving) && this.#state !== "running";
    this.#state = "closed";
    this.#sink = undefined;
    this.#socket.destroy();
    this.#events.onClosed(expected);
  }

  #onReply(number: number, bytes: Uint8Array): void {
    if (this.#broken) return;
    this.#check(number, "a reply", "running");
    this.#begun = true;
    if (this.#sink === undefined) return;
    try {
      this.#sink.onStdout(bytes);
    } catch (error) {
      // It is not the process' fault: the rest is for nobody.
      const sink = this.#sink;
      this.#sink = undefined;
      sink?.onFail(coded(error), "touched");
    }
  }

  #onFrame(type: number, flags: number, number: number, payload: Uint8Array): void {
    if (this.#broken) return;
    if (type === REPLY) this.#onFlags(number, flags);
    else if (type === LOG) this.#onLog(payload);
    else if (type === LEAVING) {
      if (number !== 0 && number !== this.#number) throw malformed(`a leave in request ${number}, not ${this.#number}`);
      this.#leaving = true;
      this.#events.onStopAsked?.();
    } else if (type === EARLY) {
      this.#check(number, "an early response", "running");
      if (this.#begun) throw malformed("an early response behind the final one");
      const head = readEarly(payload);
      try {
        this.#sink?.onInformational(head);
      } catch {
        // It can do without.
      }
    } else throw malformed(`one of type ${type} behind the hello`);
  }

  #onFlags(number: number, flags: number): void {
    if (flags === READY) this.#check(number, "a word of being ready", "answered");
    else this.#check(number, "a reply", "running");
    if ((flags & (LAST | CUT)) !== 0) {
      if ((flags & LAST) !== 0 && (flags & CUT) !== 0) throw malformed("a reply that is whole and broken off");
      const sink = this.#sink;
      this.#sink = undefined;
      // Before the sink hears of it: what it does now is no back-pressure of this answer's.
      this.#state = "answered";
      this.resume();
      if ((flags & LAST) !== 0) sink?.onEnd(0);
      else sink?.onFail(cutOff(), "touched");
      this.#events.onAnswered?.();
    }
    // The process may have been killed by whoever heard the end.
    if ((flags & READY) === 0 || this.#broken || this.state !== "answered") return;
    this.#state = "idle";
    this.#events.onReady?.();
  }

  #onLog(payload: Uint8Array): void {
    const line = readLogLine(payload);
    if (this.#events.onLog === undefined) this.#events.onLine(line.message);
    else this.#events.onLog(line);
  }

  #check(number: number, what: string, state: LinkState): void {
    if (this.#state !== state) throw malformed(`${what} while ${words[this.#state]}`);
    if (number !== this.#number) throw malformed(`${what} of request ${number} while ${this.#number} runs`);
  }
}

function cutOff(): CoreError {
  return new CoreError("PHP_RESPONSE_CUT", "PHP broke off its response; its log says why", { status: 502 });
}

const words: Readonly<Record<LinkState, string>> = {
  idle: "no request runs",
  running: "the answer is not whole",
  answered: "the answer is whole already",
  closed: "the connection is closed",
};

function readEarly(payload: Uint8Array): ResponseHead {
  let early: ResponseHead | undefined;
  const parser = new HeadParser({ onInterim: (head) => early ??= head });
  parser.push(Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength));
  if (early === undefined || parser.head !== undefined) throw malformed("an early response that is none");
  return early;
}
