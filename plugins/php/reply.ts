import { CoreError } from "../../core/error.ts";
import type { Exchange } from "../../core/exchange.ts";
import type { FcgiHandler, Progress } from "./fastcgi/handler.ts";
import { HeadParser, type ResponseHead } from "./fastcgi/head.ts";

/** Up to this many body bytes wait for the end of the response, so that it goes out as one piece with its length. */
const holdBytes = 65_536;
/** With more than this many bytes waiting for a slow client PHP is no longer read, until the client has taken them. */
const high = 1_048_576;

type ResponseBody = Parameters<Exchange["respond"]>[0];
type HeaderPairs = Parameters<Exchange["respond"]>[2];

/** What a reply needs of whoever runs the request. */
export interface ReplyHost {
  readonly method: string;
  /** As {@linkcode Exchange.respond}. */
  respond(body: ResponseBody, status: number, headers: HeaderPairs): Response;
  /** Stops and goes on reading PHP's output. */
  pause(): void;
  resume(): void;
  onStderr(text: string): void;
  /** PHP has answered whole. Called before the response is handed on, so that the process is free at once. */
  onEnd(): void;
  /** The request failed. True when it will be sent again: the reply then starts over. */
  onFail(error: CoreError, progress: Progress): boolean;
  /** The client took no more of a stream. */
  onCancel(): void;
  /** A stream begins; `sent` settles when its last byte was handed over. */
  onStream(sent: Promise<void>): void;
  /** A part of the body is held back: call {@linkcode Reply.flush} when no more of it has come for a while. */
  onHold(): void;
}

/** Turns what one PHP process prints into a response: in one piece when it is small, else as a stream. */
export class Reply implements FcgiHandler {
  readonly response: Promise<Response>;
  readonly #host: ReplyHost;
  readonly #settle: { resolve(response: Response): void; reject(error: unknown): void };
  #parser: HeadParser | undefined;
  #head: ResponseHead | undefined;
  #held: Uint8Array[] | undefined;
  #heldBytes = 0;
  #bodyBytes = 0;
  #declared = -1;
  #flow: Flow | undefined;
  #over = false;

  constructor(host: ReplyHost) {
    this.#host = host;
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    this.response = promise;
    this.#settle = { resolve, reject };
  }

  /** Body bytes PHP has given so far. */
  get bytes(): number {
    return this.#bodyBytes;
  }

  onStdout(chunk: Uint8Array): void {
    let bytes = chunk;
    if (this.#head === undefined) {
      const parser = this.#parser ??= new HeadParser();
      const body = parser.push(chunk);
      if (body === undefined) return;
      const head = this.#head = parser.head!;
      this.#declared = contentLength(head);
      bytes = body;
      if (streams(head)) this.#startFlow();
    }
    if (this.#over || this.#host.method === "HEAD") return;
    if (this.#declared >= 0 && this.#bodyBytes + bytes.byteLength > this.#declared) {
      // As nginx does: a body longer than its declared length is cut, or the rest would be read as the next response.
      bytes = bytes.subarray(0, this.#declared - this.#bodyBytes);
    }
    if (bytes.byteLength === 0) return;
    this.#bodyBytes += bytes.byteLength;
    if (this.#flow !== undefined) {
      if (this.#flow.push(bytes) > high) this.#host.pause();
      return;
    }
    if (this.#held === undefined) {
      this.#held = [bytes];
      this.#host.onHold();
    } else this.#held.push(bytes);
    this.#heldBytes += bytes.byteLength;
    if (this.#heldBytes > holdBytes) this.#startFlow();
  }

  /** Sends what is held back, and what follows, as a stream: someone flushed it on purpose, or PHP takes its time. */
  flush(): void {
    if (this.#heldBytes > 0) this.#startFlow();
  }

  onStderr(bytes: Uint8Array): void {
    this.#host.onStderr(new TextDecoder().decode(bytes));
  }

  onEnd(): void {
    if (this.#over) return this.#host.onEnd();
    const head = this.#head;
    if (head === undefined) {
      this.#host.onEnd();
      return this.fail(new CoreError("PHP_HEAD_MISSING", "PHP ended without a response", { status: 502 }));
    }
    this.#over = true;
    const short = this.#host.method !== "HEAD" && !bodyless(head.status) && this.#bodyBytes < this.#declared;
    this.#host.onEnd();
    if (this.#flow !== undefined) {
      return short ? this.#flow.fail(tooShort(this.#bodyBytes, this.#declared)) : this.#flow.end();
    }
    if (short) return this.#settle.reject(tooShort(this.#bodyBytes, this.#declared));
    try {
      const bare = this.#host.method === "HEAD" || bodyless(head.status);
      const body = bare ? null : joined(this.#held ?? [], this.#heldBytes);
      // A length that is none is not sent on: two of them, or words.
      this.#settle.resolve(this.#host.respond(body, head.status, responseHeaders(head, bare && this.#declared >= 0)));
    } catch (cause) {
      this.#settle.reject(unusable(cause));
    }
  }

  onFail(error: CoreError, progress: Progress): void {
    if (this.#over) return void this.#host.onFail(error, progress);
    if (this.#host.onFail(error, progress)) this.#parser = undefined;
    else this.fail(error);
  }

  /** Ends the reply: with an error response while nothing has been sent, else by cutting the stream off. */
  fail(error: CoreError): void {
    this.#over = true;
    this.#held = undefined;
    if (this.#flow !== undefined) this.#flow.fail(error);
    else this.#settle.reject(error);
  }

  #startFlow(): void {
    if (this.#over || this.#flow !== undefined) return;
    const head = this.#head!;
    if (this.#host.method === "HEAD" || bodyless(head.status)) return;
    const flow = new Flow(() => this.#host.resume(), () => {
      this.#over = true;
      this.#host.onCancel();
    });
    try {
      const response = this.#host.respond(flow.stream, head.status, responseHeaders(head, this.#declared >= 0));
      this.#flow = flow;
      for (const bytes of this.#held ?? []) flow.push(bytes);
      this.#held = undefined;
      this.#host.onStream(flow.sent);
      this.#settle.resolve(response);
    } catch (cause) {
      this.#over = true;
      this.#settle.reject(unusable(cause));
    }
  }
}

/** A response body fed by pushing; it counts what the client has not taken yet. */
class Flow {
  readonly stream: ReadableStream<Uint8Array>;
  readonly sent: Promise<void>;
  readonly #done: { resolve(): void; reject(error: unknown): void };
  readonly #drained: () => void;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #queue: Uint8Array[] = [];
  #queued = 0;
  #full = false;
  #pulled: (() => void) | undefined;
  #ended = false;
  #error: CoreError | undefined;

  constructor(drained: () => void, cancelled: () => void) {
    this.#drained = drained;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.sent = promise;
    this.sent.catch(() => {});
    this.#done = { resolve, reject };
    this.stream = new ReadableStream<Uint8Array>({
      start: (controller) => void (this.#controller = controller),
      pull: () => this.#pull(),
      cancel: () => {
        if (!this.#ended) cancelled();
        this.#queue = [];
        this.#done.reject(
          new CoreError("CLIENT_LEFT", "The client left before the response was whole", { status: 499 }),
        );
      },
    }, { highWaterMark: 0 });
  }

  /** Returns the bytes that wait. */
  push(bytes: Uint8Array): number {
    this.#queue.push(bytes);
    this.#queued += bytes.byteLength;
    if (this.#queued > high) this.#full = true;
    this.#pulled?.();
    return this.#queued;
  }

  end(): void {
    this.#ended = true;
    this.#pulled?.();
  }

  fail(error: CoreError): void {
    this.#error = error;
    this.#ended = true;
    this.#pulled?.();
  }

  #pull(): Promise<void> | void {
    if (this.#queue.length === 0 && !this.#ended) {
      return new Promise((resolve) => {
        this.#pulled = () => {
          this.#pulled = undefined;
          this.#give();
          resolve();
        };
      });
    }
    this.#give();
  }

  #give(): void {
    const controller = this.#controller!;
    if (this.#queue.length > 0) {
      const chunks = this.#queue;
      this.#queue = [];
      this.#queued = 0;
      for (const bytes of chunks) controller.enqueue(bytes);
      if (this.#full) {
        this.#full = false;
        this.#drained();
      }
    } else if (this.#error !== undefined) {
      controller.error(this.#error);
      this.#done.reject(this.#error);
    } else {
      controller.close();
      this.#done.resolve();
    }
  }
}

const hopByHop = /^(?:connection|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade)$/i;

/** PHP's headers without those that are between two hops; the list itself when there are none. */
function responseHeaders({ headers }: ResponseHead, keepLength: boolean): HeaderPairs {
  const dropped = ([name, value]: HeaderPairs[number]) =>
    hopByHop.test(name) || (!keepLength && isLength(name)) || (value === "" && /^content-type$/i.test(name));
  return headers.some(dropped) ? headers.filter((pair) => !dropped(pair)) : headers;
}

function isLength(name: string): boolean {
  return name.length === 14 && name.toLowerCase() === "content-length";
}

function contentLength(head: ResponseHead): number {
  const found = head.headers.filter(([name]) => isLength(name));
  return found.length === 1 && /^\d+$/.test(found[0]![1]) ? Number(found[0]![1]) : -1;
}

/** Whether a response asks to go out as it comes. */
function streams(head: ResponseHead): boolean {
  return head.headers.some(([name, value]) => {
    const lower = name.toLowerCase();
    return (lower === "content-type" && value.startsWith("text/event-stream")) ||
      (lower === "x-accel-buffering" && value.toLowerCase() === "no");
  });
}

function bodyless(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  if (chunks.length === 1) return chunks[0] as Uint8Array<ArrayBuffer>;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}

function tooShort(got: number, declared: number): CoreError {
  return new CoreError("PHP_BODY_CUT", `PHP declared ${declared} bytes of response and gave ${got}`, { status: 502 });
}

function unusable(cause: unknown): CoreError {
  const text = cause instanceof Error ? cause.message : String(cause);
  return new CoreError("PHP_HEAD_INVALID", `PHP's response head cannot be sent on: ${text}`, { status: 502, cause });
}
