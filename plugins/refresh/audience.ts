import type { Clock } from "../../core/clock.ts";

/** Ms between two signs of life: shorter than the shortest time for which any listener keeps a silent connection. */
const aliveMs = 3000;
/** Events that may wait for one who does not read, before he is let go. */
const patience = 20;

/** Those who listen for changes: streams of server-sent events, bounded in number. */
export class Audience {
  readonly #most: number;
  readonly #clock: Clock;
  readonly #streams = new Set<ReadableStreamDefaultController<Uint8Array>>();
  readonly #text = new TextEncoder();
  #cancel: (() => void) | undefined;
  #closed = false;

  constructor(most: number, clock: Clock) {
    this.#most = most;
    this.#clock = clock;
  }

  get size(): number {
    return this.#streams.size;
  }

  /** A stream that begins with `first`; undefined when there are as many as may be, or the server ends. */
  join(first: string, onGone: (left: () => void) => void): ReadableStream<Uint8Array> | undefined {
    if (this.#closed || this.#streams.size >= this.#most) return undefined;
    let own: ReadableStreamDefaultController<Uint8Array>;
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        own = controller;
        this.#streams.add(controller);
        // Something at once, so that the head goes out.
        controller.enqueue(this.#text.encode(`:\n\n${first}`));
      },
      cancel: () => void this.#streams.delete(own),
    });
    onGone(() => this.#end(own));
    this.#cancel ??= this.#clock.setTimer(aliveMs, this.#signOfLife);
    return stream;
  }

  tell(event: string): void {
    const bytes = this.#text.encode(event);
    for (const stream of this.#streams) {
      if ((stream.desiredSize ?? 0) < -patience) this.#end(stream);
      else stream.enqueue(bytes);
    }
  }

  /** Ends every stream, and takes nobody any more. */
  close(): void {
    this.#closed = true;
    this.#cancel?.();
    for (const stream of this.#streams) this.#end(stream);
  }

  #end(stream: ReadableStreamDefaultController<Uint8Array>): void {
    if (this.#streams.delete(stream)) stream.close();
  }

  readonly #signOfLife = (): void => {
    this.#cancel = undefined;
    this.tell(":\n\n");
    if (this.#streams.size > 0) this.#cancel = this.#clock.setTimer(aliveMs, this.#signOfLife);
  };
}
