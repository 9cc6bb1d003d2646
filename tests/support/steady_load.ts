/**
 * Clients that never stop, and tell of every request that did not end well.
 *
 * @module
 */
import { connect, type NetConnectOpts, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { pause } from "./wait.ts";

export interface LoadOptions {
  /** Where to connect. */
  readonly to: NetConnectOpts & { readonly ca?: string };
  /** Target of each request; a function gets its number. */
  readonly path: string;
  /** Clients that connect for each request. */
  readonly connecting: number;
  /** Clients that keep their connection for as long as they may. */
  readonly keeping: number;
  /** Most time (ms) between two requests of one client that keeps. */
  readonly thinkMs: number;
}

export interface LoadReport {
  /** Bodies of answers with 200, and how often each came. */
  readonly bodies: ReadonlyMap<string, number>;
  readonly answered: number;
  /** Connections made. */
  readonly connections: number;
  /** One line a request that was refused, reset, cut off or answered with another status. */
  readonly failures: readonly string[];
}

export class SteadyLoad {
  readonly #options: LoadOptions;
  readonly #bodies = new Map<string, number>();
  readonly #failures: string[] = [];
  readonly #clients: Promise<void>[] = [];
  #answered = 0;
  #connections = 0;
  #over = false;

  constructor(options: LoadOptions) {
    this.#options = options;
    for (let i = 0; i < options.connecting; i++) this.#clients.push(this.#connectEachTime());
    for (let i = 0; i < options.keeping; i++) {
      this.#clients.push(this.#keep(options.thinkMs * (i + 1) / options.keeping));
    }
  }

  get answered(): number {
    return this.#answered;
  }

  async stop(): Promise<LoadReport> {
    this.#over = true;
    await Promise.all(this.#clients);
    return {
      bodies: this.#bodies,
      answered: this.#answered,
      connections: this.#connections,
      failures: this.#failures,
    };
  }

  async #connectEachTime(): Promise<void> {
    while (!this.#over) {
      await this.#ask(await this.#open(), true);
      // Others have work to do on this machine, too.
      await pause(2);
    }
  }

  async #keep(thinkMs: number): Promise<void> {
    let line: Line | undefined;
    while (!this.#over) {
      // The server may close a connection that is idle; then it is not asked.
      if (line === undefined || line.closed) line = await this.#open();
      if (!await this.#ask(line, false)) line = undefined;
      await pause(thinkMs);
    }
    line?.close();
  }

  async #open(): Promise<Line | undefined> {
    this.#connections++;
    try {
      return await Line.open(this.#options.to);
    } catch (error) {
      this.#failures.push(`connect: ${(error as { code?: string }).code ?? error}`);
      await pause(5);
      return undefined;
    }
  }

  /** Whether the connection may be used again. */
  async #ask(line: Line | undefined, last: boolean): Promise<boolean> {
    if (line === undefined) return false;
    try {
      const { status, body, close } = await line.ask(this.#options.path, last);
      if (status !== 200) throw new Error(`status ${status}`);
      this.#answered++;
      this.#bodies.set(body, (this.#bodies.get(body) ?? 0) + 1);
      if (last || close) line.close();
      return !last && !close;
    } catch (error) {
      this.#failures.push(`${last ? "new" : "kept"}: ${(error as Error).message}`);
      line.close();
      return false;
    }
  }
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly close: boolean;
}

/** One connection. */
class Line {
  readonly #socket: Socket | TLSSocket;
  #text = "";
  #wake: () => void = () => {};
  #error: Error | undefined;
  closed = false;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk: unknown) => {
      this.#text += new TextDecoder("latin1").decode(chunk as Uint8Array);
      this.#wake();
    });
    socket.on("error", (error: Error) => {
      this.#error = error;
      this.#wake();
    });
    for (const event of ["end", "close"]) {
      socket.on(event, () => {
        this.closed = true;
        this.#wake();
      });
    }
  }

  static open({ ca, ...to }: LoadOptions["to"]): Promise<Line> {
    return new Promise((resolve, reject) => {
      const socket = ca === undefined ? connect(to) : connectTls({ ...to, ca } as never);
      socket.once("error", reject);
      socket.once(ca === undefined ? "connect" : "secureConnect", () => {
        socket.off("error", reject);
        resolve(new Line(socket));
      });
    });
  }

  async ask(path: string, last: boolean): Promise<Answer> {
    this.#socket.write(`GET ${path} HTTP/1.1\r\nHost: test\r\n${last ? "Connection: close\r\n" : ""}\r\n`);
    for (;;) {
      const answer = this.#answer();
      if (answer !== undefined) return answer;
      if (this.#error !== undefined) throw this.#error;
      if (this.closed) throw new Error(`cut off after ${this.#text.length} bytes`);
      await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }

  close(): void {
    this.closed = true;
    this.#socket.destroy();
  }

  /** A whole answer: of known length, or in one chunk. */
  #answer(): Answer | undefined {
    const end = this.#text.indexOf("\r\n\r\n");
    if (end < 0) return undefined;
    const head = this.#text.slice(0, end), rest = this.#text.slice(end + 4);
    const length = /^content-length: *(\d+)/im.exec(head)?.[1];
    const chunk = /^([0-9a-f]+)\r\n/i.exec(rest);
    if (length === undefined && chunk === null) return undefined;
    const [from, size] = length === undefined ? [chunk![0].length, parseInt(chunk![1]!, 16)] : [0, Number(length)];
    const body = rest.slice(from, from + size), after = rest.slice(from + size);
    const closing = length === undefined ? "\r\n0\r\n\r\n" : "";
    if (body.length < size || after.length < closing.length) return undefined;
    if (!after.startsWith(closing)) throw new Error("more than one chunk");
    this.#text = after.slice(closing.length);
    return { status: Number(head.slice(9, 12)), body, close: /^connection: *close/im.test(head) };
  }
}
