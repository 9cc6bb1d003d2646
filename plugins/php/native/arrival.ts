/**
 * A process that has said its hello, and what can be made of its connection.
 *
 * @module
 */
import type { FcgiSocket } from "../fastcgi/socket.ts";
import { Conversation } from "./conversation.ts";
import { encodeFrame, ENDED, FrameReader, LOG } from "./frame.ts";
import type { Hello } from "./hello.ts";
import type { LinkEvents } from "./link.ts";
import type { RequestEncoder } from "./request.ts";

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
