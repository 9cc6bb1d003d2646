import type { CoreError } from "../../../core/error.ts";
import { dialError, dialTimeout } from "./errors.ts";
import type { Clock, DialFailure, Pooled, PoolOptions } from "./options.ts";
import type { Pacer } from "./pacer.ts";
import type { Request } from "./request.ts";
import type { PoolSettings } from "./settings.ts";
import type { Running, Steps } from "./steps.ts";

/** Why a connection is being opened: for a request, to keep the minimum, or to see whether the upstream is back. */
export type Purpose = "request" | "warm" | "probe";

/** A connection that is being opened. It is nobody's: whoever waits first for its kind has it. */
export interface Dial<B, W> {
  readonly kind: string;
  readonly want: W;
  readonly purpose: Purpose;
  /** Whose wait it was started for. */
  readonly request: Request<B, W> | undefined;
  readonly startedAt: number;
}

interface Live<B, W> extends Dial<B, W> {
  readonly abort: AbortController;
  step?: Running;
}

/** What becomes of dials. */
export interface DialOwner<B, W> {
  dialed(dial: Dial<B, W>, backend: B): void;
  dialFailed(dial: Dial<B, W>, error: CoreError, failure: DialFailure): void;
  /** A dial that had been given up brought a backend after all. */
  late(backend: B): void;
  /** A step ends at this time at the latest. */
  wakeBy(at: number): void;
}

/** The connections that are being opened. */
export class Dials<B extends Pooled, W> {
  readonly #options: PoolOptions<B, W>;
  readonly #settings: PoolSettings;
  readonly #clock: Clock;
  readonly #steps: Steps;
  readonly #pacer: Pacer;
  readonly #owner: DialOwner<B, W>;
  readonly #live = new Set<Live<B, W>>();

  constructor(options: PoolOptions<B, W>, settings: PoolSettings, steps: Steps, pacer: Pacer, owner: DialOwner<B, W>) {
    this.#options = options;
    this.#settings = settings;
    this.#clock = options.clock;
    this.#steps = steps;
    this.#pacer = pacer;
    this.#owner = owner;
  }

  get size(): number {
    return this.#live.size;
  }

  /** Adds the dials to the counts by kind. */
  count(kinds: Map<string, number>): void {
    for (const { kind } of this.#live) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }

  start(purpose: Purpose, kind: string, want: W, request?: Request<B, W>): void {
    const startedAt = this.#clock.now();
    const { connectTimeoutMs } = this.#settings;
    const ms = purpose === "probe" ? this.#pacer.probe(connectTimeoutMs) : connectTimeoutMs;
    if (purpose !== "probe") this.#pacer.take();
    const abort = new AbortController();
    const dial: Live<B, W> = { kind, want, purpose, request, startedAt, abort };
    this.#live.add(dial);
    dial.step = this.#steps.run(
      startedAt + ms,
      () => this.#options.dial(kind, want, abort.signal),
      (outcome) => {
        this.#live.delete(dial);
        if (outcome.ok) {
          this.#pacer.succeeded();
          return this.#owner.dialed(dial, outcome.value);
        }
        if (outcome.timedOut) abort.abort();
        const error = outcome.timedOut ? dialTimeout(ms) : dialError(outcome.error);
        const failure = outcome.timedOut ? "unreachable" : this.#settings.classify(outcome.error);
        this.#pacer.failed(failure, error, startedAt, this.#clock.now());
        this.#owner.dialFailed(dial, error, failure);
      },
      (backend) => this.#owner.late(backend),
    );
    this.#owner.wakeBy(startedAt + ms);
  }

  /** Gives up one dial that matches; false when none does. */
  giveUp(which: (dial: Dial<B, W>) => boolean): boolean {
    for (const dial of this.#live) {
      if (!which(dial)) continue;
      this.#live.delete(dial);
      dial.step!.abandon();
      dial.abort.abort();
      return true;
    }
    return false;
  }
}
