import type { BulkheadPermit } from "../../core/contracts/bulkheads.ts";
import type { Awaitable } from "../../core/plugin.ts";
import { lostPermit } from "./errors.ts";
import type { BulkheadGrant } from "./store.ts";

/** Permits as a caller has them: what the store granted, given back by `using` too, with a signal for their loss. */
export class StorePermit implements BulkheadPermit {
  readonly #grant: BulkheadGrant;
  #aborter: AbortController | undefined = undefined;
  #ended: (() => void) | undefined = undefined;

  constructor(grant: BulkheadGrant) {
    this.#grant = grant;
  }

  get name(): string {
    return this.#grant.name;
  }

  get weight(): number {
    return this.#grant.weight;
  }

  get waitedMs(): number {
    return this.#grant.waitedMs;
  }

  get position(): number {
    return this.#grant.position;
  }

  get fence(): number {
    return this.#grant.fence;
  }

  get lost(): boolean {
    return this.#grant.lost;
  }

  /** Made on first use: most callers need none. */
  get signal(): AbortSignal {
    if (this.#aborter === undefined) {
      const aborter = this.#aborter = new AbortController();
      this.#grant.onLost(() => aborter.abort(lostPermit(this.name)));
    }
    return this.#aborter.signal;
  }

  onLost(listener: () => void): () => void {
    return this.#grant.onLost(listener);
  }

  /** Runs `ended` once, when the permits are given back or lost. */
  afterEnd(ended: () => void): void {
    this.#ended = ended;
    this.#grant.onLost(() => this.#end());
  }

  release(): Awaitable<boolean> {
    this.#end();
    return this.#grant.release();
  }

  [Symbol.dispose](): void {
    const released = this.release();
    // A store that cannot be told now has the lease end them.
    if (typeof released !== "boolean") released.catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  #end(): void {
    const ended = this.#ended;
    this.#ended = undefined;
    ended?.();
  }
}
