import { CoreError } from "../../core/error.ts";
import type { Exchange } from "../../core/exchange.ts";
import type { Disposable } from "./executor.ts";

/**
 * Request bodies in files, by the exchange they came with. Most are freed by the run that used them; who is turned away before
 * never gets one, and is told of by {@linkcode Bodies.finish}.
 */
export class Bodies {
  readonly #coming = new Set<Exchange>();
  readonly #kept = new Map<Exchange, Disposable>();

  /**
   * Awaits a body; `files` says whether it has any to free.
   *
   * @throws CoreError `BODY_LATE` (504) when the exchange was over before; what came is freed then
   */
  async receive<B extends Disposable>(
    x: Exchange,
    body: Promise<B>,
    files: (body: B) => Disposable | undefined,
  ): Promise<B> {
    this.#coming.add(x);
    try {
      const received = await body;
      const kept = files(received);
      if (!this.#coming.has(x)) {
        received.dispose();
        throw new CoreError("BODY_LATE", "The request's time was over before its body was here", { status: 504 });
      }
      if (kept !== undefined) this.#kept.set(x, kept);
      return received;
    } finally {
      this.#coming.delete(x);
    }
  }

  /** The exchange is over. */
  finish(x: Exchange): void {
    if (this.#coming.size > 0) this.#coming.delete(x);
    if (this.#kept.size === 0) return;
    this.#kept.get(x)?.dispose();
    this.#kept.delete(x);
  }
}
