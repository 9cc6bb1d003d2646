/**
 * The connections that have not said their hello yet.
 *
 * @module
 */
import { CoreError } from "../../../core/error.ts";
import type { Clock } from "../fastcgi/clock.ts";
import { coded } from "../fastcgi/errors.ts";
import type { FcgiSocket } from "../fastcgi/socket.ts";
import { Arrival } from "./arrival.ts";
import { FrameReader, HEADER, HELLO, malformed } from "./frame.ts";
import type { StreamSocket } from "./stream_listen.ts";
import { type Hello, readHello, VERSION } from "./hello.ts";
import type { RequestEncoder } from "./request.ts";

/** Connections that have not said their hello yet; more are refused. */
const maxStrangers = 256;

const helloOnly: ReadonlyMap<number, number> = new Map([[HELLO, 4096]]);

/** Who awaits a process. */
export interface Host {
  onHello(arrival: Arrival): void;
  readonly onRefuse: ((error: CoreError) => void) | undefined;
}

/** The connections that have not said their hello, and those who await one. */
export class Hall {
  readonly #encode: RequestEncoder;
  readonly #clock: Clock;
  readonly #helloMs: number;
  readonly #hosts = new Map<string, Host>();
  readonly #strangers = new Set<FcgiSocket>();

  constructor(encode: RequestEncoder, clock: Clock, helloMs: number) {
    this.#encode = encode;
    this.#clock = clock;
    this.#helloMs = helloMs;
  }

  expect(token: string, host: Host): () => void {
    this.#hosts.set(token, host);
    return () => {
      if (this.#hosts.get(token) === host) this.#hosts.delete(token);
    };
  }

  /** Reads the hello of a new connection. */
  enter(socket: StreamSocket): void {
    socket.on("error", () => {}); // an error must never be without a listener
    if (this.#strangers.size >= maxStrangers) return void socket.destroy();
    this.#strangers.add(socket);
    const leave = () => {
      untimed();
      this.#strangers.delete(socket);
      socket.off("data", onData);
      socket.off("end", refuse);
      socket.off("close", refuse);
    };
    const refuse = () => {
      leave();
      socket.destroy();
    };
    const untimed = this.#clock.after(this.#helloMs, refuse);
    let held: Uint8Array = new Uint8Array(0);
    const onData = (chunk: Uint8Array) => {
      const bytes = held.byteLength === 0 ? chunk : join(held, chunk);
      let cut;
      try {
        cut = cutHello(bytes);
      } catch {
        return refuse();
      }
      if (cut === undefined) return void (held = bytes);
      leave();
      this.#meet(socket, cut.hello, cut.rest);
    };
    socket.on("data", onData);
    socket.on("end", refuse);
    socket.on("close", refuse);
  }

  close(): void {
    this.#hosts.clear();
    for (const socket of this.#strangers) socket.destroy();
  }

  #meet(socket: FcgiSocket, payload: Uint8Array, rest: Uint8Array): void {
    let hello: Hello;
    try {
      hello = readHello(payload);
    } catch {
      return void socket.destroy();
    }
    const host = this.#hosts.get(hello.token);
    if (host === undefined) return void socket.destroy();
    this.#hosts.delete(hello.token);
    if (hello.version !== VERSION) {
      socket.destroy();
      const text = `Expected version ${VERSION} of the worker protocol, found ${hello.version}; ` +
        "use the PHP library that comes with this server";
      return host.onRefuse?.(new CoreError("PHP_WORKER_VERSION", text));
    }
    const arrival = new Arrival(hello, socket, rest, this.#encode);
    try {
      host.onHello(arrival);
    } catch (error) {
      socket.destroy();
      return host.onRefuse?.(coded(error));
    }
    if (!arrival.taken) socket.destroy();
  }
}

/** The payload of the first frame, which must be a hello, and what follows it. */
function cutHello(bytes: Uint8Array): { readonly hello: Uint8Array; readonly rest: Uint8Array } | undefined {
  let hello: Uint8Array | undefined;
  // Nothing behind the first frame is read: it is for whoever takes the connection.
  const reader = new FrameReader({
    onReply() {},
    onFrame: (_type, _flags, number, payload) => {
      if (number !== 0) throw malformed("a hello within a request");
      hello = payload;
    },
  }, helloOnly);
  const length = bytes.byteLength < 4 ? 0 : new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true);
  reader.push(bytes.subarray(0, HEADER + length));
  return hello === undefined ? undefined : { hello, rest: bytes.subarray(HEADER + length) };
}

function join(a: Uint8Array, b: Uint8Array): Uint8Array {
  const out = new Uint8Array(a.byteLength + b.byteLength);
  out.set(a);
  out.set(b, a.byteLength);
  return out;
}
