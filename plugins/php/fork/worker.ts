import { CoreError } from "../../../core/error.ts";
import type { ReplySink } from "../reply_sink.ts";
import type { Worker, WorkerEvents, WorkerExit, WorkerRequest } from "../worker/handle.ts";
import type { Child } from "./child.ts";
import type { Nursery, Order } from "./nursery.ts";

/** A parent that has let an order wait for so long (ms), until its worker was killed, is stuck. */
const stuckMs = 1000;

/** A worker for one request: an order at first, then a child. */
export class ForkedWorker implements Worker {
  readonly #nursery: Nursery<Child>;
  readonly #events: WorkerEvents;
  readonly #order: Order<Child>;
  #child: Child | undefined;
  readonly #since = performance.now();
  #over = false;

  constructor(nursery: Nursery<Child>, events: WorkerEvents) {
    this.#nursery = nursery;
    this.#events = events;
    this.#order = {
      onBorn: (child) => {
        this.#child = child;
        child.adopt({
          onBroken: (error) => events.onBroken(error),
          onLine: (text) => events.onLine(text),
          onExit: (exit) => this.#exit(exit),
        });
        events.onReady();
      },
      onFailed: (exit) => this.#exit(exit),
    };
    nursery.order(this.#order);
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  send(request: WorkerRequest, sink: ReplySink): void {
    if (this.#over) return;
    if (this.#child === undefined) {
      throw new CoreError("PHP_WORKER_BUSY", "Expected a worker that is ready; wait for onReady before each request", {
        status: 500,
      });
    }
    this.#child.send(request, sink);
    // It ends after this request, so its successor is due now.
    this.#events.onStopAsked();
  }

  pause(): void {
    this.#child?.pause();
  }

  resume(): void {
    this.#child?.resume();
  }

  cancel(): void {
    this.#child?.cancel();
  }

  stop(): void {
    if (this.#child === undefined) this.#cancel(false);
    else this.#child.stop();
  }

  kill(): void {
    if (this.#child === undefined) this.#cancel(performance.now() - this.#since >= stuckMs);
    else this.#child.kill();
  }

  #cancel(waitedTooLong: boolean): void {
    if (this.#over || !this.#nursery.cancel(this.#order, waitedTooLong)) return;
    queueMicrotask(() => this.#exit({ code: 0, signal: null, lastWords: [] }));
  }

  #exit(exit: WorkerExit): void {
    if (this.#over) return;
    this.#over = true;
    this.#events.onExit(exit);
  }
}
