/**
 * HTTP/1.1 by hand over a socket, for requests that no client library would send and for looking at what really came
 * back.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { connect, type Socket } from "node:net";

export interface RawResponse {
  readonly version: string;
  readonly status: number;
  readonly reason: string;
  /** As they came: order and case kept, repeated ones repeated. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
  readonly framing: "none" | "length" | "chunked" | "close";
  /** Whether the body ended where its framing said; a body framed by the close always does. */
  readonly complete: boolean;
  /** Ms from `connect` to the status line, and to the end of the body. */
  readonly headMs: number;
  readonly endMs: number;
  /** The first value of this header, whatever its case. */
  header(name: string): string | undefined;
  all(name: string): string[];
  text(): string;
}

export interface ReadOptions {
  /** The answer to a HEAD request has no body. */
  readonly head?: boolean;
  /** Ms; 10 s when absent. */
  readonly timeout?: number;
}

const noBody = (status: number): boolean => status < 200 || status === 204 || status === 304;

export class RawClient {
  readonly socket: Socket;
  readonly started: number = performance.now();
  #received: Buffer = Buffer.alloc(0);
  #ended = false;
  #wake: (() => void) | undefined;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on("data", (bytes: Buffer) => {
      this.#received = this.#received.length === 0 ? bytes : Buffer.concat([this.#received, bytes]);
      this.#wake?.();
    });
    for (const event of ["end", "close", "error"]) {
      socket.on(event, () => {
        this.#ended = true;
        this.#wake?.();
      });
    }
  }

  /** Connects to a port of the loopback address. */
  static connect(port: number): Promise<RawClient> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: "127.0.0.1", noDelay: true });
      socket.once("error", reject);
      socket.once("connect", () => {
        socket.off("error", reject);
        resolve(new RawClient(socket));
      });
    });
  }

  /** Writes the parts one after the other, waiting while the system's buffer is full. Strings go as Latin-1. */
  async send(...parts: (string | Uint8Array)[]): Promise<void> {
    for (const part of parts) {
      if (this.socket.destroyed || this.socket.writableEnded) return;
      const bytes = typeof part === "string" ? Buffer.from(part, "latin1") : part;
      if (this.socket.write(bytes)) continue;
      await new Promise<void>((done) => {
        const free = () => {
          for (const event of ["drain", "close", "error"]) this.socket.off(event, free);
          done();
        };
        for (const event of ["drain", "close", "error"]) this.socket.on(event, free);
      });
    }
  }

  /** Bytes that came and were not read yet. */
  get pending(): string {
    return this.#received.toString("latin1");
  }

  /**
   * Reads one response, interim ones (1xx) too; undefined when the server closed without a further one. Throws when
   * nothing whole came in time, or when what came is not HTTP.
   */
  async read(options: ReadOptions = {}): Promise<RawResponse | undefined> {
    const until = performance.now() + (options.timeout ?? 10_000);
    const headEnd = await this.#find("\r\n\r\n", until);
    if (headEnd < 0) {
      if (this.#received.length === 0) return undefined;
      throw new Error(`Not an HTTP response: ${JSON.stringify(this.pending.slice(0, 200))}`);
    }
    const headMs = performance.now() - this.started;
    const [statusLine = "", ...lines] = this.#take(headEnd + 4).toString("latin1").slice(0, -4).split("\r\n");
    const matched = /^HTTP\/(\d\.\d) (\d{3}) ?(.*)$/.exec(statusLine);
    if (!matched) throw new Error(`Not an HTTP status line: ${JSON.stringify(statusLine)}`);
    const headers = lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
    });
    const all = (name: string) =>
      headers.filter(([key]) => key.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
    const status = Number(matched[2]);
    const rest = await this.#body(status, all, options.head ?? false, until);
    return {
      version: matched[1]!,
      status,
      reason: matched[3]!,
      headers,
      ...rest,
      headMs,
      endMs: performance.now() - this.started,
      header: (name) => all(name)[0],
      all,
      text: () => Buffer.from(rest.body).toString("utf8"),
    };
  }

  async #body(
    status: number,
    all: (name: string) => string[],
    head: boolean,
    until: number,
  ): Promise<{ body: Uint8Array; framing: RawResponse["framing"]; complete: boolean }> {
    if (head || noBody(status)) return { body: new Uint8Array(), framing: "none", complete: true };
    if (all("transfer-encoding").some((value) => value.toLowerCase().includes("chunked"))) {
      const parts: Buffer[] = [];
      for (;;) {
        const lineEnd = await this.#find("\r\n", until);
        if (lineEnd < 0) return { body: Buffer.concat(parts), framing: "chunked", complete: false };
        const size = parseInt(this.#take(lineEnd + 2).toString("latin1"), 16);
        if (Number.isNaN(size)) throw new Error("The response has a chunk without a size");
        if (size === 0) {
          for (;;) {
            const end = await this.#find("\r\n", until);
            if (end < 0) return { body: Buffer.concat(parts), framing: "chunked", complete: false };
            this.#take(end + 2);
            if (end === 0) return { body: Buffer.concat(parts), framing: "chunked", complete: true };
          }
        }
        const whole = await this.#wait(size + 2, until);
        parts.push(this.#take(Math.min(size, this.#received.length)));
        if (!whole) return { body: Buffer.concat(parts), framing: "chunked", complete: false };
        this.#take(2);
      }
    }
    const length = all("content-length")[0];
    if (length !== undefined) {
      const complete = await this.#wait(Number(length), until);
      return { body: this.#take(Math.min(Number(length), this.#received.length)), framing: "length", complete };
    }
    await this.#wait(Infinity, until);
    return { body: this.#take(this.#received.length), framing: "close", complete: true };
  }

  /** Whether the server closes the connection within `timeout` ms. */
  async closes(timeout: number = 2000): Promise<boolean> {
    const until = performance.now() + timeout;
    while (!this.#ended && performance.now() < until) await this.#more(until);
    return this.#ended;
  }

  /** Reads all responses until the server closes or says nothing for `quiet` ms. */
  async readAll(quiet: number = 500): Promise<RawResponse[]> {
    const responses: RawResponse[] = [];
    for (;;) {
      const until = performance.now() + (responses.length === 0 ? 5000 : quiet);
      while (this.#received.length === 0 && !this.#ended && performance.now() < until) await this.#more(until);
      if (this.#received.length === 0) return responses;
      const response = await this.read();
      if (response === undefined) return responses;
      responses.push(response);
    }
  }

  /** Leaves at once, as a client does whose tab was closed. */
  leave(): void {
    this.socket.destroy();
  }

  #take(length: number): Buffer {
    const taken = this.#received.subarray(0, length);
    this.#received = this.#received.subarray(length);
    return taken;
  }

  async #find(mark: string, until: number): Promise<number> {
    for (;;) {
      const at = this.#received.indexOf(mark);
      if (at >= 0 || this.#ended) return at;
      await this.#more(until, true);
    }
  }

  async #wait(length: number, until: number): Promise<boolean> {
    while (this.#received.length < length && !this.#ended) await this.#more(until, true);
    return this.#received.length >= length;
  }

  /** Waits for bytes, for the end, or for `until`. */
  async #more(until: number, strict = false): Promise<void> {
    const left = until - performance.now();
    if (left <= 0) {
      if (strict) throw new Error(`The server said no more; it has said ${JSON.stringify(this.pending.slice(0, 200))}`);
      return;
    }
    await new Promise<void>((done) => {
      const timer = setTimeout(done, left);
      this.#wake = () => {
        clearTimeout(timer);
        done();
      };
    });
    this.#wake = undefined;
  }
}

/** Sends these bytes on a connection of their own, reads one response, and leaves. */
export async function ask(
  port: number,
  bytes: string | Uint8Array,
  options?: ReadOptions,
): Promise<RawResponse | undefined> {
  const client = await RawClient.connect(port);
  try {
    await client.send(bytes);
    return await client.read(options);
  } finally {
    client.leave();
  }
}
