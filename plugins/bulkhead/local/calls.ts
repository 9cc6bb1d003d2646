import type { CoreError } from "../../../core/error.ts";
import { throwLater } from "../throw_later.ts";
import { writeRelease } from "./asks.ts";
import { ClientConnection } from "./connection.ts";
import { broken, expectLength, op } from "./frame.ts";
import type { Payload } from "./frame_reader.ts";
import type { RemoteGrant } from "./remote_grant.ts";

/** Who waits for an answer. */
export interface Call {
  onAnswer(type: number, payload: Payload): void;
  /** The connection was lost. */
  onGone(cause: Error): void;
  /** Nobody is taken any more. */
  onClose?(): void;
}

export interface CallsOptions {
  /** Of the server's socket. */
  readonly path: string;
  /** How long (ms) the server may take to greet. */
  readonly greetMs: number;
  /** What a listener for lost permits threw; thrown in a microtask of its own when absent. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/**
 * What is asked of a server and held of it, by the numbers of the frames. It connects when something is asked, and again when the
 * connection was lost: what was held is lost then, and who waits is told. A connection that nothing needs keeps no process alive.
 */
export class Calls {
  readonly #options: CallsOptions;
  readonly #asked = new Map<number, Call>();
  /** Numbers whose answers come to nobody: what is granted goes back. */
  readonly #forgotten = new Set<number>();
  readonly #held = new Map<number, RemoteGrant>();
  #connection: ClientConnection | undefined;
  #number = 0;
  #closed = false;

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  /** A number that nothing has. */
  next(): number {
    do this.#number = this.#number % 0xffff_ffff + 1; while (
      this.#asked.has(this.#number) || this.#forgotten.has(this.#number) || this.#held.has(this.#number)
    );
    return this.#number;
  }

  /** Sends what is answered. */
  ask(number: number, bytes: Uint8Array, call: Call): void {
    this.#asked.set(number, call);
    const connection = this.#connection ??= this.#connect();
    connection.write(bytes);
    connection.hold(true);
  }

  /** Sends what needs no answer, if there is a connection. */
  tell(bytes: Uint8Array): void {
    this.#connection?.write(bytes);
  }

  /** Nobody waits for the answer to `number` any more. */
  forget(number: number): void {
    if (this.#asked.delete(number)) this.#forgotten.add(number);
    this.#settle();
  }

  /** Its loss is told to it from now on. */
  hold(number: number, grant: RemoteGrant): void {
    this.#held.set(number, grant);
  }

  /** It is on its way back. */
  letGo(number: number): void {
    this.#held.delete(number);
  }

  /** Tells who waits. The connection closes when nothing is held any more. */
  close(): void {
    this.#closed = true;
    for (const call of [...this.#asked.values()]) call.onClose?.();
    this.#settle();
  }

  #connect(): ClientConnection {
    return new ClientConnection(this.#options.path, this.#options.greetMs, {
      onAnswer: (type, number, payload) => this.#answered(type, number, payload),
      onClose: (cause) => this.#gone(cause),
    });
  }

  #answered(type: number, number: number, payload: Payload): void {
    if (type === op.lost) {
      expectLength("LOST", payload, 0);
      const grant = this.#held.get(number);
      this.#held.delete(number);
      grant?.lose(this.#options.onError ?? throwLater);
    } else if (this.#forgotten.delete(number)) {
      if (type === op.grant) this.tell(writeRelease(number, false));
    } else {
      const call = this.#asked.get(number);
      if (call === undefined) throw broken(`Expected an answer to what was asked, got number ${number}`);
      this.#asked.delete(number);
      try {
        call.onAnswer(type, payload);
      } catch (error) {
        this.#asked.set(number, call);
        throw error;
      }
    }
    this.#settle();
  }

  #gone(cause: CoreError | Error): void {
    this.#connection = undefined;
    const asked = [...this.#asked.values()], held = [...this.#held.values()];
    this.#asked.clear();
    this.#forgotten.clear();
    this.#held.clear();
    for (const grant of held) grant.lose(this.#options.onError ?? throwLater);
    for (const call of asked) call.onGone(cause);
  }

  #settle(): void {
    if (this.#asked.size > 0 || this.#held.size > 0) return;
    this.#connection?.hold(false);
    // After the releases that have been written.
    if (this.#closed) queueMicrotask(() => this.#connection?.end());
  }
}
