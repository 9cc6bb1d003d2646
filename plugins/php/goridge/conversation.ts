/**
 * What is said between us and one worker: handshake, requests, answers, streams, farewell. It knows no process and no pipe.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { CoreError } from "../../../core/error.ts";
import type { Clock } from "../fastcgi/clock.ts";
import type { ResponseHead } from "../fastcgi/head.ts";
import type { ReplySink } from "../reply_sink.ts";
import { readAnswerHead } from "./answer_head.ts";
import { noHandshake, notRun, onlyEarly } from "./errors.ts";
import { CONTROL, encodeControl, encodeFrame, ERROR, PING, PONG, STOP, STREAM } from "./frame.ts";
import { type FrameInfo, FrameReader, type FrameSink } from "./frame_reader.ts";

/** What a conversation needs of whoever owns the worker. */
export interface ConversationHost {
  /** Sends bytes in one write. */
  write(bytes: Uint8Array): void;
  /** The worker can take a request. */
  onReady(): void;
  onStopAsked(): void;
  /** What it wrote makes no sense. `stray` is what stood in place of a frame, if that is why. */
  onBroken(error: CoreError, stray: Uint8Array | undefined): void;
  onLine(text: string): void;
  /** It goes on with a stream that nobody reads: end it. */
  onStuck(): void;
}

/** What is known of the workers of one script. */
export interface Trust {
  /** Whether every request is fenced: so by choice, or since one of them was caught answering twice. */
  fenced: boolean;
}

export interface ConversationOptions {
  /** The pid the worker must say it has. */
  readonly pid: number;
  /** Ours. */
  readonly hostPid: number;
  /** How long (ms) a stream may go on after it was told to stop. */
  readonly stopGraceMs: number;
  readonly trust: Trust;
  readonly clock: Clock;
}

/** Bytes of an error's text that are kept. */
const keptText = 65_536;
/** So many requests of each worker are fenced: a program that answers every request twice is found out. */
const probation = 16;
/** A request up to this size (bytes) is copied behind its fence, so that both go out in one write. */
const copied = 65_536;

const none = new Uint8Array(0);
const pong = encodeFrame(0, [], none, PONG);
const stopStream = encodeFrame(0, [], none, STOP);
const stopWorker = encodeControl({ stop: true });

type Frame = "answer" | "early" | "held" | "error" | "dropped";

/**
 * Frames carry no number that would tell whose answer they are, and workers do answer twice: many send an error behind a
 * response, some ask to be stopped behind one. There is one question that every worker answers only when it waits for a
 * request: what its pid is. Put before a request, it is a fence: what comes before its answer belongs to an earlier
 * request and is dropped, and a worker that dies before has not begun with this one. Put behind an answer, it is a check: when
 * it is answered next, there is no other answer to the request.
 *
 * A fence costs about as much as a third of a small request. So it is put where it may be needed: before the first requests of
 * a worker, after every answer that was not plain, and before all requests once a worker of the script was caught. Without
 * one, errors and answers of status 5xx, which is what comes twice, are held until they are checked.
 */
export class Conversation implements FrameSink {
  readonly #host: ConversationHost;
  readonly #options: ConversationOptions;
  readonly #question: Buffer;
  readonly #reader: FrameReader;
  #state: "starting" | "idle" | "busy" | "leaving" | "over" = "starting";
  /** Questions not yet answered. */
  #asked = 1;
  #requests = 0;
  /** Whether the request is behind a fence, and whether the worker has not come there. */
  #fenced = false;
  #beforeFence = false;
  /** Whether the last answer was such that a second one may follow. */
  #odd = false;
  /** Who hears of the answer; undefined when nobody does any more. */
  #sink: ReplySink | undefined;
  #headDone = false;
  #cancelled = false;
  #stopSent = false;
  #stopAsked = false;
  #stopWanted = false;
  #freed = false;
  /** Tells the sink of an answer that is being checked. */
  #held: (() => void) | undefined;
  /** What the frame being read is, and what is kept of it. */
  #frame: Frame = "dropped";
  #more = false;
  #kept: Uint8Array[] = [];
  #keptLength = 0;
  #head: ResponseHead | undefined;
  #ungrace: (() => void) | undefined;

  constructor(host: ConversationHost, options: ConversationOptions) {
    this.#host = host;
    this.#options = options;
    this.#question = encodeControl({ pid: options.hostPid });
    this.#reader = new FrameReader(this);
    host.write(this.#question);
  }

  get idle(): boolean {
    return this.#state === "idle";
  }

  /** Takes what the worker wrote, cut anywhere. */
  data(chunk: Uint8Array): void {
    if (this.#state === "over") return;
    try {
      this.#reader.push(chunk);
    } catch (error) {
      this.#state = "over";
      this.#ungrace?.();
      const { stray } = this.#reader;
      const coded = error instanceof CoreError ? error : new CoreError("PHP_HANDLER_FAILED", String(error));
      return this.#host.onBroken(coded, stray.byteLength > 0 ? stray : undefined);
    }
    // Not before the whole chunk was read: more may come right behind an answer.
    if (!this.#freed) return;
    this.#freed = false;
    if (this.#state !== "idle") return;
    if (this.#stopWanted) this.#leave();
    else this.#host.onReady();
  }

  /** Sends a request, which is a whole frame, to an idle worker. */
  send(request: Uint8Array, sink: ReplySink): void {
    const fence = this.#options.trust.fenced || this.#odd || this.#requests < probation || this.#asked > 0;
    this.#requests++;
    this.#state = "busy";
    this.#fenced = this.#beforeFence = fence;
    this.#sink = sink;
    this.#headDone =
      this.#cancelled =
      this.#stopSent =
      this.#odd =
        false;
    if (!fence) return this.#host.write(request);
    this.#asked++;
    if (request.byteLength <= copied) return this.#host.write(Buffer.concat([this.#question, request]));
    this.#host.write(this.#question);
    this.#host.write(request);
  }

  /** Has an idle worker read something, and answer it. */
  keepAwake(): void {
    if (this.#state !== "idle" || this.#asked > 0) return;
    this.#asked++;
    this.#host.write(this.#question);
  }

  /** Nobody waits for the answer: a stream is stopped, another answer awaited and dropped. */
  cancel(): void {
    if (this.#state !== "busy" || this.#cancelled) return;
    this.#cancelled = this.#odd = true;
    this.#sink = undefined;
    // An answer of one frame may have begun as well: told to stop when it waits again, the worker does nothing.
    if (this.#headDone) this.#stopStream();
  }

  /** The sink hears nothing more: the worker is being ended. */
  mute(): void {
    this.#sink = undefined;
  }

  /** Asks the worker to end, once it is idle. */
  stop(): void {
    if (this.#state === "busy") this.#stopWanted = true;
    else if (this.#state === "idle" || this.#state === "starting") this.#leave();
  }

  /** The worker is gone. Tells the sink of a request that it had certainly not begun with, or had answered. */
  end(): void {
    this.#ungrace?.();
    if (this.#state === "busy") {
      if (this.#stopSent) this.#tellStopAsked();
      if (this.#beforeFence) this.#fail(notRun("ended"), "unsent");
      else this.#held?.();
    }
    this.#state = "over";
  }

  onFrame({ flags, stream }: FrameInfo, head: Uint8Array): void {
    this.#more = (stream & STREAM) !== 0;
    this.#frame = "dropped";
    if (stream & PING) this.#host.write(pong);
    if (flags & CONTROL) return this.#onControl(head);
    if (flags & ERROR) {
      this.#frame = "error";
      return;
    }
    if (this.#state === "starting") throw noHandshake("an answer");
    if (this.#state === "busy" && !this.#beforeFence) this.#onAnswer(head);
    else if (isStop(head)) this.#tellStopAsked();
    else this.#caught();
  }

  onBody(bytes: Uint8Array): void {
    if (this.#frame === "answer") this.#tell((sink) => sink.onBody(bytes));
    else if (this.#frame === "held") this.#kept.push(bytes);
    else if (this.#frame === "error" && this.#keptLength < keptText) {
      const part = bytes.subarray(0, keptText - this.#keptLength);
      this.#kept.push(part);
      this.#keptLength += part.byteLength;
    }
  }

  onFrameEnd(): void {
    if (this.#frame === "error") return this.#onError();
    if (this.#frame === "dropped" || this.#more) return;
    const kept = this.#kept, head = this.#head;
    this.#kept = [];
    if (this.#frame === "held") {
      return this.#check(() => {
        this.#tell((sink) => sink.onHead(head!));
        for (const bytes of kept) this.#tell((sink) => sink.onBody(bytes));
        this.#free()?.onEnd(0);
      });
    }
    this.#free()?.onEnd(0);
  }

  #onControl(message: Uint8Array): void {
    let pid: unknown;
    try {
      pid = (JSON.parse(new TextDecoder().decode(message)) as { pid?: unknown } | null)?.pid;
    } catch {
      // No pid, then.
    }
    if (pid !== this.#options.pid) {
      const wanted = `{"pid":${this.#options.pid}}`, found = JSON.stringify(new TextDecoder().decode(message));
      throw noHandshake(`${found}; start PHP itself, not a shell that starts it (or with exec)`, wanted);
    }
    this.#asked = Math.max(0, this.#asked - 1);
    if (this.#state === "starting") {
      this.#state = "idle";
      this.#freed = true;
    } else if (this.#asked === 0) {
      this.#beforeFence = false;
      const held = this.#held;
      this.#held = undefined;
      held?.();
    }
  }

  #onAnswer(bytes: Uint8Array): void {
    if (this.#held !== undefined) {
      // What was held was none of ours: here is ours.
      this.#held = undefined;
      this.#caught();
    }
    this.#frame = "answer";
    if (this.#headDone) return;
    let head: ResponseHead | "stop";
    try {
      head = readAnswerHead(bytes);
      if (head !== "stop" && head.status < 200 && !this.#more) throw onlyEarly(head.status);
    } catch (error) {
      this.#headDone = this.#odd = true;
      return this.#fail(error as CoreError, "touched");
    }
    if (head === "stop") {
      this.#frame = "dropped";
      this.#tellStopAsked();
      return this.#check(() => {
        this.#fail(notRun("asked to be replaced"), "unsent");
        this.#leave();
      });
    }
    if (head.status < 200) {
      this.#frame = "early";
      return this.#tell((sink) => sink.onInformational(head));
    }
    this.#odd ||= this.#more || head.status >= 500;
    if (head.status >= 500 && !this.#more && !this.#fenced) {
      this.#frame = "held";
      this.#head = head;
      return;
    }
    this.#headDone = true;
    this.#tell((sink) => sink.onHead(head));
    if (this.#cancelled && this.#more) this.#stopStream();
  }

  #onError(): void {
    const bytes = Buffer.concat(this.#kept);
    this.#kept = [];
    this.#keptLength = 0;
    const text = bytes.toString();
    if (this.#state !== "busy" || this.#beforeFence) {
      this.#lines(text);
      if (this.#state === "starting") throw noHandshake(`an error: ${JSON.stringify(text.slice(0, 300))}`);
      return;
    }
    this.#odd = true;
    this.#check(() => {
      if (this.#sink === undefined) this.#lines(text);
      else if (bytes.byteLength > 0) this.#tell((sink) => sink.onStderr(bytes));
      const first = text.slice(0, 300).split("\n", 1)[0]!;
      this.#free()?.onFail(
        new CoreError("PHP_WORKER_ERROR", `The worker answered with an error: ${first}`, { status: 500 }),
        "touched",
      );
    });
  }

  /** Tells an answer when it is certain that it is one to this request: at once behind a fence, or in midst of the answer. */
  #check(tell: () => void): void {
    if (this.#held !== undefined) this.#caught();
    if (this.#fenced || this.#headDone) {
      this.#held = undefined;
      return tell();
    }
    this.#held = tell;
    if (this.#asked > 0) return;
    this.#asked++;
    this.#host.write(this.#question);
  }

  /** A worker has answered more than it was asked. */
  #caught(): void {
    if (this.#state === "leaving") return;
    const known = this.#options.trust.fenced;
    this.#options.trust.fenced = true;
    const more = known ? "" : "; its requests cost more from now on, for their answers to be told apart";
    this.#host.onLine(`dropped a second answer to one request${more}`);
  }

  #lines(text: string): void {
    if (text !== "") { for (const line of text.split("\n")) this.#host.onLine(line); }
  }

  /** The request is over. Returns who is to hear of it. */
  #free(): ReplySink | undefined {
    const sink = this.#sink;
    this.#ungrace?.();
    this.#ungrace = undefined;
    this.#sink = undefined;
    if (this.#state === "busy") {
      this.#state = "idle";
      this.#freed = true;
    }
    return sink;
  }

  #tell(call: (sink: ReplySink) => void): void {
    if (this.#sink === undefined) return;
    try {
      call(this.#sink);
    } catch (cause) {
      const error = cause instanceof CoreError
        ? cause
        : new CoreError("PHP_HANDLER_FAILED", "Cannot take the response of PHP", { status: 500, cause });
      this.#fail(error, "touched");
    }
  }

  /** What still comes of the answer is dropped. */
  #fail(error: CoreError, progress: "unsent" | "touched"): void {
    const sink = this.#sink;
    this.#sink = undefined;
    sink?.onFail(error, progress);
  }

  #tellStopAsked(): void {
    if (this.#stopAsked) return;
    this.#stopAsked = true;
    this.#host.onStopAsked();
  }

  #stopStream(): void {
    if (this.#stopSent) return;
    this.#stopSent = true;
    this.#host.write(stopStream);
    this.#ungrace = this.#options.clock.after(this.#options.stopGraceMs, () => {
      this.#ungrace = undefined;
      this.#tellStopAsked();
      this.#host.onStuck();
    });
  }

  #leave(): void {
    this.#state = "leaving";
    this.#host.write(stopWorker);
  }
}

function isStop(head: Uint8Array): boolean {
  try {
    return readAnswerHead(head) === "stop";
  } catch {
    return false;
  }
}
