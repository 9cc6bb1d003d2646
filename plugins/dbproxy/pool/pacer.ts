import type { CoreError } from "../../../core/error.ts";
import type { DialFailure } from "./options.ts";

const shortestWait = 10;
const longestWait = 250;
const probeEvery = 250;
const shortProbe = 1_000;

export interface PacerOptions {
  /** Dials a second in the long run, `Infinity` for as many as are asked for; and how many at once. */
  readonly rate: number;
  readonly burst: number;
  /** Failures in a row, and ms of being unreachable, after which the breaker opens. */
  readonly failures: number;
  readonly ms: number;
}

/**
 * When a new connection may be tried: never faster than the rate; after a failure one at a time, with growing waits; and not
 * at all, but for a probe now and then, when the upstream has been unreachable for long (the breaker is open).
 */
export class Pacer {
  readonly #options: PacerOptions;
  #tokens: number;
  #filledAt = -Infinity;
  #wait = 0;
  #nextAt = -Infinity;
  #failures = 0;
  #failedAt = -Infinity;
  #unreachableSince: number | undefined = undefined;
  #lastError: CoreError | undefined = undefined;
  #open = false;
  #probeAt = Infinity;
  #probes = 0;

  constructor(options: PacerOptions) {
    this.#options = options;
    this.#tokens = options.burst;
  }

  get open(): boolean {
    return this.#open;
  }

  /** Of the last dial, when it failed. */
  get lastError(): CoreError | undefined {
    return this.#lastError;
  }

  /** When the next probe is due; Infinity while the breaker is closed. */
  get probeAt(): number {
    return this.#probeAt;
  }

  /** When a dial may start: at or before `now`, or later; Infinity when one that goes on must end first. */
  dialAt(now: number, dialing: number): number {
    if (this.#open || (this.#failures > 0 && dialing > 0)) return Infinity;
    const { rate } = this.#options;
    if (rate === Infinity) return this.#nextAt;
    this.#fill(now);
    return this.#tokens >= 1 ? this.#nextAt : Math.max(this.#nextAt, now + ((1 - this.#tokens) * 1_000) / rate);
  }

  /** A dial starts. */
  take(): void {
    this.#tokens--;
  }

  /** A probe starts; returns how many ms it may take: mostly little, so that the next one comes soon when this one hangs. */
  probe(connectTimeout: number): number {
    this.#probeAt = Infinity;
    return this.#probes++ % 4 === 3 ? connectTimeout : Math.min(shortProbe, connectTimeout);
  }

  succeeded(): void {
    this.#failures = 0;
    this.#wait = 0;
    this.#nextAt = -Infinity;
    this.#lastError = undefined;
    this.#unreachableSince = undefined;
    this.#close();
  }

  failed(failure: DialFailure, error: CoreError, startedAt: number, now: number): void {
    // Whoever is refused for good is answered by a server that is well.
    if (failure === "final") return this.succeeded();
    this.#lastError = error;
    // Dials that went on side by side fail as one.
    if (startedAt > this.#failedAt) {
      this.#failures++;
      this.#failedAt = now;
      this.#wait = Math.min(longestWait, this.#wait === 0 ? shortestWait : 2 * this.#wait);
      this.#nextAt = now + this.#wait;
    }
    if (failure === "busy") {
      this.#unreachableSince = undefined;
      return this.#close();
    }
    this.#unreachableSince ??= startedAt;
    const { failures, ms } = this.#options;
    if (!this.#open && this.#failures < failures && now - this.#unreachableSince < ms) return;
    this.#open = true;
    this.#probeAt = now + probeEvery;
  }

  #close(): void {
    this.#open = false;
    this.#probeAt = Infinity;
    this.#probes = 0;
  }

  #fill(now: number): void {
    const { rate, burst } = this.#options;
    if (this.#filledAt > -Infinity) {
      this.#tokens = Math.min(burst, this.#tokens + ((now - this.#filledAt) * rate) / 1_000);
    }
    this.#filledAt = now;
  }
}
