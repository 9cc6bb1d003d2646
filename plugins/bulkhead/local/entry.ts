import type { BulkheadGrant } from "../store.ts";

/** One ask of a connection: it waits, then holds permits. */
export class Entry {
  /** The peer's name for it. */
  readonly number: number;
  readonly owner: number;
  /** Whether it ends with the execution that asked. */
  readonly bound: boolean;
  readonly #leaseMs: number;
  readonly #since: number;
  #aborter: AbortController | undefined;
  grant: BulkheadGrant | undefined;
  /** Takes back that a loss is told. */
  unlisten: (() => void) | undefined;
  /** It neither waits nor holds anything more. */
  over = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param aborter ends its wait; absent where there is to be none */
  constructor(number: number, owner: number, bound: boolean, leaseMs: number, aborter: AbortController | undefined) {
    this.number = number;
    this.owner = owner;
    this.bound = bound;
    this.#leaseMs = leaseMs;
    this.#aborter = aborter;
    this.#since = aborter === undefined ? 0 : performance.now();
  }

  get signal(): AbortSignal | undefined {
    return this.#aborter?.signal;
  }

  get waitedMs(): number {
    return this.#since === 0 ? 0 : performance.now() - this.#since;
  }

  /** Ends the wait, if it is one: its answer comes. */
  cancel(): void {
    if (this.grant === undefined) this.#aborter?.abort();
  }

  /** Runs `ended` when its lease is over, unless it is over before. */
  expire(ended: () => void): void {
    this.#timer ??= setTimeout(ended, Math.min(this.#leaseMs, 0x7fff_ffff));
  }

  end(): void {
    this.over = true;
    clearTimeout(this.#timer);
    this.unlisten?.();
    this.unlisten = undefined;
  }
}
