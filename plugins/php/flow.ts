import { CoreError } from "../../core/error.ts";

/** With more than this many bytes waiting for a slow client it is time to stop giving, until the client has taken them. */
const high = 1_048_576;

/** A response body fed by pushing; it counts what the client has not taken yet. */
export class Flow {
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

  /** Returns false when no more should come before `drained`. */
  push(bytes: Uint8Array): boolean {
    this.#queue.push(bytes);
    this.#queued += bytes.byteLength;
    if (this.#queued > high) this.#full = true;
    this.#pulled?.();
    return !this.#full;
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
