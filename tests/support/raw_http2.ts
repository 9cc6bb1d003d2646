/**
 * HTTP/2 by hand over TLS (RFC 9113), for frames that no client library would send. Headers go as literals that no table
 * remembers (RFC 7541, section 6.2.2), so that any text can be put into them.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { connect, type TLSSocket } from "node:tls";

export const frames = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  window: 8,
  continuation: 9,
} as const;
export const flags = { endStream: 1, endHeaders: 4 } as const;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export type Fields = readonly (readonly [name: string, value: string])[];

/** The pseudo fields of a GET. */
export function get(path: string, ...more: Fields): Fields {
  return [[":method", "GET"], [":scheme", "https"], [":authority", "localhost"], [":path", path], ...more];
}

/** The pseudo fields of a POST. */
export function post(path: string, ...more: Fields): Fields {
  return [[":method", "POST"], ...get(path, ...more).slice(1)];
}

/** A header block of literals without indexing. */
export function block(fields: Fields): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.of(0), text(name), text(value)]));
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, "latin1");
  const { length } = bytes;
  if (length < 127) return Buffer.concat([Buffer.of(length), bytes]);
  const size = [127];
  let rest = length - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) size.push(rest % 128 | 128);
  return Buffer.concat([Buffer.from([...size, rest]), bytes]);
}

export function frame(type: number, flag: number, stream: number, payload: Uint8Array = new Uint8Array()): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.byteLength, 0, 3);
  head[3] = type;
  head[4] = flag;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** One connection that has sent its preface. */
export class RawHttp2 {
  readonly socket: TLSSocket;
  /** What has come, in order. */
  readonly seen: Frame[] = [];
  closed = false;
  #rest: Buffer = Buffer.alloc(0);
  #wake: (() => void)[] = [];

  private constructor(socket: TLSSocket) {
    this.socket = socket;
    socket.on("data", (bytes: Buffer) => this.#take(bytes));
    const over = () => {
      this.closed = true;
      this.#tell();
    };
    socket.on("error", over).on("close", over).on("end", over);
  }

  static connect(port: number): Promise<RawHttp2> {
    return new Promise((resolve, reject) => {
      const options = { port, host: "127.0.0.1", ALPNProtocols: ["h2"], rejectUnauthorized: false };
      const socket = connect(options, () => {
        const client = new RawHttp2(socket);
        client.send(Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(frames.settings, 0, 0)]));
        resolve(client);
      });
      socket.once("error", reject);
    });
  }

  send(bytes: Uint8Array): void {
    if (!this.closed) this.socket.write(bytes);
  }

  /** Opens a stream with one HEADERS frame; `body` ends it. */
  ask(stream: number, fields: Fields, ...body: readonly string[]): void {
    const last = body.length === 0 ? flags.endStream : 0;
    this.send(Buffer.concat([
      frame(frames.headers, flags.endHeaders | last, stream, block(fields)),
      ...body.map((part, i) =>
        frame(frames.data, i === body.length - 1 ? flags.endStream : 0, stream, Buffer.from(part))
      ),
    ]));
  }

  /** The first frame of a stream that `is` wants; undefined when the connection ends before. */
  async until(is: (frame: Frame) => boolean): Promise<Frame | undefined> {
    for (let at = 0;;) {
      for (; at < this.seen.length; at++) if (is(this.seen[at]!)) return this.seen[at];
      if (this.closed) return undefined;
      await new Promise<void>((resolve) => this.#wake.push(resolve));
    }
  }

  /** How a stream ended: the error code of its reset or of the whole connection (RFC 9113, section 7), or that it did. */
  async fate(stream: number): Promise<"answered" | "closed" | `reset ${number}` | `goaway ${number}`> {
    const end = await this.until((f) =>
      f.type === frames.goaway ||
      (f.stream === stream &&
        (f.type === frames.reset || (f.flags & flags.endStream) !== 0 && f.type <= frames.headers))
    );
    if (end === undefined) return "closed";
    if (end.type === frames.reset) return `reset ${end.payload.readUInt32BE(0)}`;
    return end.type === frames.goaway ? `goaway ${end.payload.readUInt32BE(4)}` : "answered";
  }

  /** The body of a stream so far. */
  body(stream: number): string {
    const parts = this.seen.filter((f) => f.stream === stream && f.type === frames.data).map((f) => f.payload);
    return Buffer.concat(parts).toString("latin1");
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }

  #take(bytes: Buffer): void {
    let rest = this.#rest = Buffer.concat([this.#rest, bytes]);
    while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
      const end = 9 + rest.readUIntBE(0, 3);
      this.seen.push({ type: rest[3]!, flags: rest[4]!, stream: rest.readUInt32BE(5), payload: rest.subarray(9, end) });
      rest = rest.subarray(end);
    }
    this.#rest = rest;
    this.#tell();
  }

  #tell(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }
}
