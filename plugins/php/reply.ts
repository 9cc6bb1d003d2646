import { CoreError } from "../../core/error.ts";
import type { Exchange } from "../../core/exchange.ts";
import type { Progress } from "./fastcgi/handler.ts";
import { HeadParser, type ResponseHead } from "./fastcgi/head.ts";
import { Flow } from "./flow.ts";
import { readReplyHead, type ReplyHead, withLength } from "./reply_head.ts";
import type { ReplySink } from "./reply_sink.ts";

/** Up to this many body bytes wait for the end of the response, so that it goes out as one piece with its length. */
const holdBytes = 65_536;

/** What a reply needs of whoever runs the request. */
export interface ReplyHost {
  readonly x: Pick<Exchange, "method" | "respond" | "inform">;
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
export class Reply implements ReplySink {
  readonly response: Promise<Response>;
  readonly #host: ReplyHost;
  #resolve!: (response: Response) => void;
  #reject!: (error: unknown) => void;
  #parser: HeadParser | undefined;
  #head: ReplyHead | undefined;
  #held: Uint8Array<ArrayBuffer>[] = [];
  /** Body bytes PHP has given so far. */
  bytes = 0;
  #flow: Flow | undefined;
  #over = false;

  constructor(host: ReplyHost) {
    this.#host = host;
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  onStdout(chunk: Uint8Array): void {
    const body = this.#head === undefined ? this.#readHead(chunk) : chunk;
    if (body !== undefined && body.byteLength > 0) this.#take(body);
  }

  onHead(head: ResponseHead): void {
    this.#begin(head);
  }

  onBody(bytes: Uint8Array): void {
    if (bytes.byteLength > 0) this.#take(bytes);
  }

  onInformational(head: ResponseHead): void {
    if (!this.#over && this.#flow === undefined) this.#host.x.inform(head.headers);
  }

  /** Sends what is held back, and what follows, as a stream: someone flushed it on purpose, or PHP takes its time. */
  flush(): void {
    if (this.#held.length > 0) this.#startFlow();
  }

  onStderr(bytes: Uint8Array): void {
    this.#host.onStderr(new TextDecoder().decode(bytes));
  }

  onEnd(): void {
    this.#host.onEnd();
    if (this.#over) return;
    const head = this.#head;
    if (head === undefined) {
      return this.fail(new CoreError("PHP_HEAD_MISSING", "PHP ended without a response", { status: 502 }));
    }
    const bare = this.#isBare(head);
    if (!bare && this.bytes < head.length) return this.fail(tooShort(this.bytes, head.length));
    this.#over = true;
    if (this.#flow !== undefined) return this.#flow.end();
    try {
      const response = bare
        ? this.#host.x.respond(null, head.status, withLength(head))
        : this.#host.x.respond(this.#held, head.status, head.headers);
      this.#resolve(response);
    } catch (cause) {
      this.#reject(unusable(cause));
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
    this.#held = [];
    if (this.#flow !== undefined) this.#flow.fail(error);
    else this.#reject(error);
  }

  /** Returns the bytes behind the head; undefined while it is not whole. */
  #readHead(chunk: Uint8Array): Uint8Array | undefined {
    const parser = this.#parser ??= new HeadParser();
    const body = parser.push(chunk);
    if (body === undefined) return undefined;
    this.#begin(parser.head!);
    return body;
  }

  #begin(head: ResponseHead): void {
    this.#head = readReplyHead(head);
    if (this.#head.streams) this.#startFlow();
  }

  #take(body: Uint8Array): void {
    const head = this.#head!;
    if (this.#over || this.#isBare(head)) return;
    const room = head.length < 0 ? Infinity : head.length - this.bytes;
    // As nginx does: a body longer than its declared length is cut, or the rest would be read as the next response.
    const bytes = (body.byteLength > room ? body.subarray(0, room) : body) as Uint8Array<ArrayBuffer>;
    if (bytes.byteLength === 0) return;
    this.bytes += bytes.byteLength;
    if (this.#flow !== undefined) {
      if (!this.#flow.push(bytes)) this.#host.pause();
      return;
    }
    if (this.#held.push(bytes) === 1) this.#host.onHold();
    if (this.bytes > holdBytes) this.#startFlow();
  }

  /** Whether no body goes out, whatever PHP prints. */
  #isBare(head: ReplyHead): boolean {
    return head.bodyless || this.#host.x.method === "HEAD";
  }

  #startFlow(): void {
    const head = this.#head!;
    if (this.#over || this.#flow !== undefined || this.#isBare(head)) return;
    const flow = new Flow(() => this.#host.resume(), () => {
      this.#over = true;
      this.#host.onCancel();
    });
    try {
      const response = this.#host.x.respond(flow.stream, head.status, withLength(head));
      this.#flow = flow;
      for (const bytes of this.#held) flow.push(bytes);
      this.#held = [];
      this.#host.onStream(flow.sent);
      this.#resolve(response);
    } catch (cause) {
      this.#over = true;
      this.#reject(unusable(cause));
    }
  }
}

function tooShort(got: number, declared: number): CoreError {
  return new CoreError("PHP_BODY_CUT", `PHP declared ${declared} bytes of response and gave ${got}`, { status: 502 });
}

function unusable(cause: unknown): CoreError {
  const text = cause instanceof Error ? cause.message : String(cause);
  return new CoreError("PHP_HEAD_INVALID", `PHP's response head cannot be sent on: ${text}`, { status: 502, cause });
}
