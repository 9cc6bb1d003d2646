/**
 * Bodies whose making is in the test's hands.
 *
 * @module
 */

const encoder = new TextEncoder();

/** A stream that gives what it is told to, when it is told to. */
export class HandMade {
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>;
  /** What its reader cancelled it with. */
  cancelled: { readonly reason: unknown } | undefined = undefined;
  #controller!: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>;

  constructor() {
    this.stream = new ReadableStream({
      start: (controller) => void (this.#controller = controller),
      cancel: (reason) => void (this.cancelled = { reason }),
    });
  }

  give(text: string): void {
    this.#controller.enqueue(encoder.encode(text));
  }

  end(): void {
    this.#controller.close();
  }

  fail(error: unknown): void {
    this.#controller.error(error);
  }
}

/** A promise that says whether it has settled. */
export interface Watched<T> {
  readonly promise: Promise<T>;
  settled: boolean;
}

export function watch<T>(promise: Promise<T>): Watched<T> {
  const watched: Watched<T> = { promise, settled: false };
  const done = () => void (watched.settled = true);
  promise.then(done, done);
  return watched;
}
