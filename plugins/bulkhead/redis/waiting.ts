import type { Clock } from "../../../core/clock.ts";
import type { Place, Standing } from "../deadlock.ts";
import { patientTimer } from "../in_time.ts";
import type { BulkheadAnswer, BulkheadAsk, BulkheadDenialReason } from "../store.ts";
import type { RedisOwner } from "./host.ts";

/** One ask on its way: the node of the host's own line. */
export class Waiting implements Standing {
  readonly id: string;
  readonly ask: BulkheadAsk;
  readonly place: Place;
  readonly weight: number;
  /** Known once it stands in line. */
  owner: RedisOwner | undefined = undefined;
  /** Whether Redis has said that it waits. */
  stands = false;
  /** The limit that counts on this host. */
  readonly limit: number;
  /** When it came, in ms on the host's clock. */
  readonly since: number;
  readonly deadline: number;
  /**
   * `parked`: Redis is not being asked; `asked`: its answer is on its way; `queued`: in line there; `leaving`: its time is over, and
   * Redis is asked, for a moment, whether it was granted at the last one; `done`: answered.
   */
  state: "parked" | "asked" | "queued" | "leaving" | "done" = "parked";
  /** Whether Redis may know of it. */
  sent = false;
  ticket = 0;
  /** Waiters before it when it came. */
  behind = 0;
  /** When the last command was sent that found it in line: it was granted after that. */
  knownAt = 0;
  /** Whether it has got in line more than once: its ticket says nothing of the order then. */
  moved = false;
  readonly #resolve: (answer: BulkheadAnswer) => void;
  readonly #reject: (error: unknown) => void;
  #timer: (() => void) | undefined;
  #unlisten: (() => void) | undefined;

  constructor(
    id: string,
    place: Place,
    ask: BulkheadAsk,
    limit: number,
    since: number,
    resolve: (answer: BulkheadAnswer) => void,
    reject: (error: unknown) => void,
  ) {
    this.id = id;
    this.place = place;
    this.ask = ask;
    this.weight = ask.weight;
    this.limit = limit;
    this.since = since;
    this.deadline = since + ask.maxWaitMs;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** Has the clock and the signal end the wait. */
  watch(clock: Clock, timeUp: () => void, abort: () => void): void {
    const { maxWaitMs, signal } = this.ask;
    if (maxWaitMs > 0 && maxWaitMs < Infinity) this.#timer = clock.setTimer(maxWaitMs, timeUp);
    if (signal === undefined) return;
    signal.addEventListener("abort", abort, { once: true });
    this.#unlisten = () => signal.removeEventListener("abort", abort);
  }

  /** Runs `then` in `ms`, in place of what was to run before, unless it is answered by then. */
  arm(clock: Clock, ms: number, then: () => void): void {
    this.#timer?.();
    this.#timer = patientTimer(clock, ms, then);
  }

  /** Whether it is to be answered now or never. */
  get now(): boolean {
    return this.ask.maxWaitMs === 0;
  }

  /** Ms that it would wait still. */
  left(now: number): number {
    return this.ask.maxWaitMs === 0 ? 0 : Math.max(this.deadline - now, 1);
  }

  settle(answer: BulkheadAnswer): void {
    this.#end();
    this.#resolve(answer);
  }

  deny(reason: BulkheadDenialReason, now: number, retryAfterMs = 0, cause?: unknown): void {
    const waitedMs = now - this.since;
    this.settle({ granted: false, reason, waitedMs, retryAfterMs, ...(cause === undefined ? {} : { cause }) });
  }

  fail(error: unknown): void {
    this.#end();
    this.#reject(error);
  }

  #end(): void {
    this.state = "done";
    this.#timer?.();
    this.#unlisten?.();
  }
}
