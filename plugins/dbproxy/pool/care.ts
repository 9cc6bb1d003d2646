import type { Clock, Pooled, PoolOptions } from "./options.ts";
import type { PoolSettings } from "./settings.ts";
import type { Slot, Slots } from "./slots.ts";
import type { Outcome, Steps } from "./steps.ts";

/** A backend that is being cleaned for so long (ms) is no longer waited for instead of opening another. */
const cleanPatience = 10;

/** What becomes of backends that are cleaned or checked. */
export interface CareOwner<B> {
  cleaned(slot: Slot<B>): void;
  checked(slot: Slot<B>): void;
  /** It failed, or took too long: the backend is to be closed. */
  spoiled(slot: Slot<B>, reason: string): void;
  /** Something may be due at this time. */
  wakeBy(at: number): void;
}

/** Cleaning and checking, each with a time limit. */
export class Care<B extends Pooled, W> {
  readonly #options: PoolOptions<B, W>;
  readonly #settings: PoolSettings;
  readonly #clock: Clock;
  readonly #slots: Slots<B>;
  readonly #steps: Steps;
  readonly #owner: CareOwner<B>;
  /** When each backend that is being cleaned began to be. */
  readonly #cleans = new Map<Slot<B>, number>();

  constructor(
    options: PoolOptions<B, W>,
    settings: PoolSettings,
    slots: Slots<B>,
    steps: Steps,
    owner: CareOwner<B>,
  ) {
    this.#options = options;
    this.#settings = settings;
    this.#clock = options.clock;
    this.#slots = slots;
    this.#steps = steps;
    this.#owner = owner;
  }

  /** Cleans a backend that comes back; when there is nothing to do, it is `cleaned` within this call. */
  clean(slot: Slot<B>): void {
    let cleaned: Promise<boolean> | true;
    try {
      cleaned = this.#options.clean(slot.backend);
    } catch {
      return this.#owner.spoiled(slot, "clean_failed");
    }
    if (cleaned === true) return this.#owner.cleaned(slot);
    const going = cleaned;
    this.#slots.become(slot, "cleaning");
    this.#cleans.set(slot, this.#clock.now());
    this.#run(slot, this.#settings.cleanTimeoutMs, () => going, (outcome) => {
      if (outcome.ok && outcome.value) this.#owner.cleaned(slot);
      else this.#owner.spoiled(slot, isTimeout(outcome) ? "clean_timeout" : "clean_failed");
    });
  }

  check(slot: Slot<B>): void {
    const startedAt = this.#clock.now();
    this.#slots.become(slot, "checking");
    this.#run(slot, this.#settings.checkTimeoutMs, () => this.#options.check(slot.backend), (outcome) => {
      if (outcome.ok && outcome.value) return this.#owner.checked(slot);
      if (!isTimeout(outcome)) return this.#owner.spoiled(slot, "check_failed");
      // Silence is the way of a whole network path: the others that were not heard of since are not waited for in turn.
      const silent = ({ idleSince }: Slot<B>) => idleSince + this.#settings.checkAfterMs <= startedAt;
      for (const other of [slot, ...this.#slots.idle.filter(silent)]) this.#owner.spoiled(other, "check_timeout");
    });
  }

  /** Adds to the counts by kind the backends that are being checked, or cleaned since a moment ago. */
  count(kinds: Map<string, number>): void {
    const now = this.#clock.now();
    for (const slot of this.#slots.all()) {
      const until = slot.state === "cleaning" ? this.#cleans.get(slot)! + cleanPatience : Infinity;
      if ((slot.state !== "checking" && slot.state !== "cleaning") || until <= now) continue;
      kinds.set(slot.backend.kind, (kinds.get(slot.backend.kind) ?? 0) + 1);
      this.#owner.wakeBy(until);
    }
  }

  #run(slot: Slot<B>, ms: number, start: () => Promise<boolean>, done: (outcome: Outcome<boolean>) => void): void {
    const deadline = this.#clock.now() + ms;
    this.#steps.run(deadline, start, (outcome) => {
      this.#cleans.delete(slot);
      // It may have been closed in the meantime.
      if (this.#slots.has(slot)) done(outcome);
    });
    this.#owner.wakeBy(deadline);
  }
}

function isTimeout(outcome: Outcome<boolean>): boolean {
  return !outcome.ok && outcome.timedOut;
}
