/**
 * Where PHP processes connect: one unix socket, which only the user they run as may use, and which hands each connection to
 * whoever awaits its token.
 *
 * @module
 */
import { chmodSync, chownSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import process from "node:process";
import { CoreError } from "../../../core/error.ts";
import { type Clock, systemClock } from "../fastcgi/clock.ts";
import { coded } from "../fastcgi/errors.ts";
import type { FcgiSocket } from "../fastcgi/socket.ts";
import { Conversation, type LinkEvents } from "./conversation.ts";
import { makeSocketFolder, removeStaleFolders } from "./folder.ts";
import { encodeFrame, ENDED, FrameReader, HELLO, LOG, malformed } from "./frame.ts";
import { type Hello, readHello, VERSION } from "./hello.ts";
import { type RequestEncoder, requestEncoder } from "./request.ts";

export interface DoorOptions {
  /** `name/version`, for SERVER_SOFTWARE. */
  readonly software: string;
  /** Who may connect, when we are root; else only processes of our own user can. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  /** The folder to make the private folder in. */
  readonly tempDir?: string | undefined;
  /** How long (ms) a connection may wait with its hello; 5000 when absent. */
  readonly helloMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

/** Connections that have not said their hello yet; more are refused. */
const maxStrangers = 256;

export interface Door {
  /** Path of the socket: `FAIRLEAD_SOCKET`. */
  readonly path: string;
  /**
   * Awaits the hello of one process. The connection is closed when `onHello` does not take it.
   *
   * @param onRefuse told instead, once, when the process with this token speaks otherwise than it should
   * @returns ends the waiting: a hello with this token is refused from now on
   */
  expect(token: string, onHello: (arrival: Arrival) => void, onRefuse?: (error: CoreError) => void): () => void;
  /** Removes the socket. Connections that were taken go on. */
  close(): void;
}

/** Told by a parent that forks. Synchronous; none may throw. */
export interface ParentLinkEvents {
  /** ENDED or LOG. */
  onFrame(type: number, payload: Uint8Array): void;
  /** It is closed, by the process or because what it sent made no sense. */
  onClosed(): void;
}

/** The connection of a parent that forks. */
export interface ParentLink {
  write(type: number, payload: Uint8Array): void;
  destroy(): void;
}

/** A process that has said its hello. One of the two calls takes it; to be made before `onHello` returns. */
export class Arrival {
  readonly hello: Hello;
  readonly #socket: FcgiSocket;
  readonly #rest: Uint8Array;
  readonly #encode: RequestEncoder;
  taken = false;

  constructor(hello: Hello, socket: FcgiSocket, rest: Uint8Array, encode: RequestEncoder) {
    this.hello = hello;
    this.#socket = socket;
    this.#rest = rest;
    this.#encode = encode;
  }

  get pid(): number {
    return this.hello.pid;
  }

  get role(): string | undefined {
    return this.hello.role;
  }

  /** A process that answers requests. */
  asChild(events: LinkEvents): Conversation {
    this.taken = true;
    return new Conversation(this.#socket, this.#rest, this.#encode, events);
  }

  /** A process that forks those. */
  asParent(events: ParentLinkEvents): ParentLink {
    this.taken = true;
    const socket = this.#socket;
    let closed = false;
    const close = () => {
      if (closed) return;
      closed = true;
      socket.destroy();
      events.onClosed();
    };
    const reader = new FrameReader({
      onReply() {},
      onFrame: (type, _flags, _number, payload) => void (closed || events.onFrame(type, payload)),
    }, fromParent);
    const take = (chunk: Uint8Array) => {
      if (closed) return;
      try {
        reader.push(chunk);
      } catch {
        close();
      }
    };
    socket.on("data", take);
    socket.on("end", close);
    socket.on("close", close);
    socket.on("error", close);
    if (this.#rest.byteLength > 0) queueMicrotask(() => take(this.#rest));
    return {
      write: (type, payload) => void (closed || socket.write(encodeFrame(type, 0, payload))),
      destroy() {
        closed = true;
        socket.destroy();
      },
    };
  }
}

const fromParent: ReadonlyMap<number, number> = new Map([[LOG, 1024 * 1024], [ENDED, 64 * 1024]]);
const helloOnly: ReadonlyMap<number, number> = new Map([[HELLO, 4096]]);

/** Opens a door. @throws CoreError `PHP_START` */
export async function openDoor(options: DoorOptions): Promise<Door> {
  const { user, clock = systemClock, helloMs = 5000 } = options;
  const asRoot = process.getuid?.() === 0 && user !== undefined;
  void removeStaleFolders(options.tempDir);
  const folder = makeSocketFolder(asRoot, options.tempDir);
  const hall = new Hall(requestEncoder(options.software), clock, helloMs);
  const server = createServer((socket) => hall.enter(socket));
  try {
    await new Promise<void>((done, fail) => {
      server.once("error", fail);
      server.listen(folder.socket, done);
    });
    // Connecting needs the right to write.
    chmodSync(folder.socket, 0o600);
    if (asRoot) chownSync(folder.socket, user.uid, user.gid);
  } catch (cause) {
    server.close();
    folder.remove();
    throw new CoreError("PHP_START", `Cannot listen for PHP workers on ${folder.socket}: ${String(cause)}`, { cause });
  }
  // Later failures (no descriptor left for a connection) concern that connection.
  server.on("error", () => {});
  return {
    path: folder.socket,
    expect: (token, onHello, onRefuse) => hall.expect(token, { onHello, onRefuse }),
    close() {
      server.close();
      hall.close();
      folder.remove();
    },
  };
}

interface Host {
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
  enter(socket: FcgiSocket & Pick<Socket, "off">): void {
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
  reader.push(bytes.subarray(0, 12 + length));
  return hello === undefined ? undefined : { hello, rest: bytes.subarray(12 + length) };
}

function join(a: Uint8Array, b: Uint8Array): Uint8Array {
  const out = new Uint8Array(a.byteLength + b.byteLength);
  out.set(a);
  out.set(b, a.byteLength);
  return out;
}
