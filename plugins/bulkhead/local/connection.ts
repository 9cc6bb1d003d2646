import { connect, type Socket } from "node:net";
import type { CoreError } from "../../../core/error.ts";
import { readFault } from "./answers.ts";
import { readWelcome, version, writeHello } from "./asks.ts";
import { broken, longestFromServer, op } from "./frame.ts";
import { FrameReader, type Payload } from "./frame_reader.ts";

/** Who listens to a connection. */
export interface ConnectionEvents {
  /** A frame that answers an ask; what it throws closes the connection. */
  onAnswer(type: number, number: number, payload: Payload): void;
  /** Once: nothing follows. */
  onClose(cause: CoreError | Error): void;
}

/** A client's connection to a bulkheads' socket. What is written before it is open goes out when it is. */
export class ClientConnection {
  readonly #socket: Socket;
  readonly #events: ConnectionEvents;
  readonly #reader: FrameReader;
  #cause: CoreError | Error | undefined;
  #welcome = false;
  #hurry: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  /** @param greetMs how long the server may take to open and greet */
  constructor(path: string, greetMs: number, events: ConnectionEvents) {
    this.#events = events;
    this.#reader = new FrameReader(longestFromServer, (type, number, payload) => this.#frame(type, number, payload));
    const socket = this.#socket = connect(path);
    socket.on("data", (chunk: Uint8Array) => this.#received(chunk));
    socket.on("error", (error: Error) => this.destroy(error));
    socket.on("close", () => this.destroy(new Error("The server closed the connection")));
    this.#hurry = setTimeout(() => this.destroy(broken(`Expected a greeting within ${greetMs} ms`)), greetMs);
    socket.write(writeHello({ version, scoped: false }));
  }

  write(bytes: Uint8Array): void {
    if (!this.#closed) this.#socket.write(bytes);
  }

  /** Whether it keeps the process alive. */
  hold(on: boolean): void {
    if (on) this.#socket.ref();
    else this.#socket.unref();
  }

  /** Closes when what was written is sent. */
  end(): void {
    this.#socket.end();
  }

  destroy(cause: CoreError | Error): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#hurry);
    this.#socket.destroy();
    this.#events.onClose(this.#cause ?? cause);
  }

  #received(chunk: Uint8Array): void {
    if (this.#closed) return;
    try {
      this.#reader.push(chunk);
    } catch (error) {
      this.destroy(error as Error);
    }
  }

  #frame(type: number, number: number, payload: Payload): void {
    if (type === op.fault && number === 0) {
      this.#cause = readFault(payload);
    } else if (!this.#welcome) {
      if (type !== op.welcome) throw broken(`Expected WELCOME first, got type ${type}`);
      const theirs = readWelcome(payload);
      if (theirs !== version) throw broken(`Expected version ${version}, got ${theirs}`);
      this.#welcome = true;
      clearTimeout(this.#hurry);
    } else {
      this.#events.onAnswer(type, number, payload);
    }
  }
}
