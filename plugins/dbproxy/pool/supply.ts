import type { CoreError } from "../../../core/error.ts";
import { Alarm } from "../../../core/alarm.ts";
import { Care, type CareOwner } from "./care.ts";
import { type Dial, type DialOwner, Dials } from "./dials.ts";
import { poolTimeout } from "./errors.ts";
import type { Clock, DialFailure, Pooled, PoolEvents, PoolOptions } from "./options.ts";
import { Pacer } from "./pacer.ts";
import { Matching } from "./matching.ts";
import { Openings } from "./openings.ts";
import type { SupplyParts } from "./parts.ts";
import type { Request } from "./request.ts";
import type { PoolSettings } from "./settings.ts";
import { type Slot, Slots } from "./slots.ts";
import { Steps } from "./steps.ts";
import { Warmth } from "./warmth.ts";

/** Who holds the permits. None of this may call back into the supply before it has changed its own state. */
export interface SupplyOwner<B, W> {
  /** The backend is the request's now, and so is the permit it sought with. */
  lent(slot: Slot<B>, request: Request<B, W>, now: number): void;
  /** The request, which sought, ends without a backend. */
  refused(request: Request<B, W>, error: CoreError): void;
  /** A backend that held a permit is free or gone. */
  permitBack(): void;
  /** Nothing is left of a supply that is stopping. */
  emptied(): void;
}

/**
 * The backends of a pool: opened, checked, cleaned and closed, and brought together with the requests that seek one.
 *
 * A backend that comes free goes to whoever seeks one of its kind longest, wherever it came from: a session that ended, a
 * dial, a check. So dials and checks are nobody's, and who leaves while one goes on leaves no trace.
 *
 * After every call this holds:
 * - backends + dials are at most `max`;
 * - no idle backend suits anyone who seeks;
 * - everyone who seeks is covered by a check, a dial or a backend that is being cleaned, or waits for the time of the next
 *   dial, or for room that only users of backends of another kind can make.
 */
export class Supply<B extends Pooled, W> implements DialOwner<B, W>, CareOwner<B> {
  readonly slots: Slots<B> = new Slots();
  /** Requests that have a permit and no backend, in order of arrival. */
  readonly seeking: Set<Request<B, W>> = new Set();
  readonly pacer: Pacer;
  readonly dials: Dials<B, W>;
  readonly #options: PoolOptions<B, W>;
  readonly #settings: PoolSettings;
  readonly #clock: Clock;
  readonly #events: PoolEvents;
  readonly #owner: SupplyOwner<B, W>;
  readonly #alarm: Alarm;
  readonly #steps = new Steps();
  readonly #care: Care<B, W>;
  readonly #warmth: Warmth<W>;
  readonly #openings: Openings<B, W>;
  readonly #matching: Matching<B, W>;
  #stopping = false;
  #tending = false;
  #again = false;
  #wasOpen = false;

  constructor(options: PoolOptions<B, W>, settings: PoolSettings, owner: SupplyOwner<B, W>) {
    this.#options = options;
    this.#settings = settings;
    this.#clock = options.clock;
    this.#events = options.onEvent ?? {};
    this.#owner = owner;
    this.#warmth = new Warmth(options.warm);
    this.#alarm = new Alarm(options.clock, () => this.#wake());
    const { dialRate: rate, max: burst, breakerFailures: failures, breakerMs: ms } = settings;
    this.pacer = new Pacer({ rate, burst, failures, ms });
    this.dials = new Dials(options, settings, this.#steps, this.pacer, this);
    this.#care = new Care(options, settings, this.slots, this.#steps, this);
    const { slots, seeking, pacer, dials } = this;
    const shared: SupplyParts<B, W> = { options, settings, slots, seeking, pacer, dials, care: this.#care };
    this.#openings = new Openings({
      ...shared,
      warmth: this.#warmth,
      alarm: this.#alarm,
      remove: (slot, reason) => this.remove(slot, reason),
      refuse: (request, error) => this.refuse(request, error),
    });
    this.#matching = new Matching({
      ...shared,
      openings: this.#openings,
      lend: (slot, request, now) => this.#lend(slot, request, now),
    });
  }

  /** The idle backend that suits best, of those that were used so lately that they need no check. */
  fresh(kind: string, want: W, now: number): Slot<B> | undefined {
    return this.#matching.fresh(kind, want, now);
  }

  seek(request: Request<B, W>): void {
    this.seeking.add(request);
    this.#alarm.by(request.seekUntil);
    this.#warmth.saw(request.want);
    this.tend();
  }

  /** A lent backend comes back to be cleaned. */
  clean(slot: Slot<B>): void {
    if (slot.expiresAt <= this.#clock.now()) this.remove(slot, "lifetime");
    else this.#care.clean(slot);
  }

  /** Closes a backend, whatever it is doing. */
  remove(slot: Slot<B>, reason: string): void {
    const permit = slot.state === "lent" || slot.state === "cleaning";
    if (!this.slots.delete(slot)) return;
    this.#close(slot.backend, reason);
    if (permit) this.#owner.permitBack();
    this.tend();
  }

  /** Opens nothing that nobody waits for, and keeps nothing that comes back. */
  stop(): void {
    this.#stopping = true;
    this.tend();
  }

  /** Opens one in advance, where that takes nothing from anybody. */
  spare(want: W): void {
    if (!this.#stopping) this.#openings.spare(want);
  }

  /** Ends all that is not lent. */
  end(): void {
    this.#stopping = true;
    while (this.dials.giveUp(() => true));
    for (const slot of [...this.slots.all()]) if (slot.state !== "lent") this.remove(slot, "drain");
    this.#alarm.off();
  }

  /** Brings requests and backends together, and opens, checks and closes what that takes. */
  tend(): void {
    this.#again = true;
    if (this.#tending) return;
    this.#tending = true;
    try {
      while (this.#again) {
        this.#again = false;
        this.#matching.serve();
        if (this.#openings.giveUpSurplus(this.#stopping)) this.#again = true;
        if (!this.#stopping) {
          this.#openings.keepMinimum();
          this.#openings.probe();
        }
        this.#closeIdle();
      }
    } finally {
      this.#tending = false;
    }
    if (!this.#stopping || this.slots.size + this.dials.size + this.seeking.size > 0) return;
    this.#alarm.off();
    this.#owner.emptied();
  }

  // What becomes of dials.

  dialed(dial: Dial<B, W>, backend: B): void {
    const now = this.#clock.now();
    this.#events.dialed?.(now - dial.startedAt);
    this.#tellBreaker();
    this.#warmth.succeeded();
    const expiresAt = now + this.#settings.maxLifetimeMs * (0.9 + 0.1 * this.#options.random());
    const slot: Slot<B> = { backend, expiresAt, state: "free", idleSince: now, doom: undefined };
    this.slots.add(slot);
    this.#offer(slot);
    this.tend();
  }

  dialFailed(dial: Dial<B, W>, error: CoreError, failure: DialFailure): void {
    this.#events.dialFailed?.(error, failure);
    this.#tellBreaker();
    if (dial.purpose === "warm" && failure !== "unreachable") this.#warmth.refused(this.#clock.now());
    if (failure === "final" && dial.request !== undefined) this.refuse(dial.request, error);
    const now = this.#clock.now();
    for (const request of [...this.seeking]) {
      if (failure !== "final" && request.deadline <= now) this.refuse(request, error);
    }
    this.tend();
  }

  late(backend: B): void {
    this.#close(backend, "late");
  }

  // What becomes of backends that are cleaned or checked.

  cleaned(slot: Slot<B>): void {
    this.slots.become(slot, "free");
    this.#offer(slot);
    this.#owner.permitBack();
    if (this.seeking.size > 0 || this.#stopping) this.tend();
  }

  checked(slot: Slot<B>): void {
    this.slots.become(slot, "free");
    this.#offer(slot);
    this.tend();
  }

  spoiled(slot: Slot<B>, reason: string): void {
    this.remove(slot, reason);
  }

  wakeBy(at: number): void {
    this.#alarm.by(at);
  }

  /** Closes what is idle when this stops and nobody is left who could want it. */
  #closeIdle(): void {
    if (!this.#stopping || this.seeking.size > 0 || this.#options.gate.queued > 0) return;
    for (const slot of [...this.slots.idle]) this.remove(slot, "drain");
  }

  #lend(slot: Slot<B>, request: Request<B, W>, now: number): void {
    this.slots.become(slot, "lent");
    this.seeking.delete(request);
    this.#owner.lent(slot, request, now);
  }

  /** Ends a request that seeks. */
  refuse(request: Request<B, W>, error: CoreError): void {
    if (this.seeking.delete(request)) this.#owner.refused(request, error);
  }

  /** A backend that holds no permit is for whoever seeks its kind longest. */
  #offer(slot: Slot<B>): void {
    const now = this.#clock.now();
    if (slot.expiresAt <= now) return this.remove(slot, "lifetime");
    slot.idleSince = now;
    if (this.#matching.offer(slot, now)) return;
    this.slots.become(slot, "idle");
    this.#alarm.by(this.#reapAt(slot));
  }

  #close(backend: B, reason: string): void {
    this.#events.closed?.(reason);
    this.#options.close(backend, reason);
  }

  #tellBreaker(): void {
    const { open } = this.pacer;
    if (open === this.#wasOpen) return;
    this.#wasOpen = open;
    this.#events.breaker?.(open);
  }

  // Time.

  #wake(): void {
    const now = this.#clock.now();
    this.#steps.expire(now);
    for (const request of this.seeking) {
      if (request.seekUntil > now) this.#alarm.by(request.seekUntil);
      else this.refuse(request, this.pacer.lastError ?? poolTimeout(this.#settings.max, now - request.startedAt));
    }
    for (const slot of [...this.slots.idle]) {
      if (this.#reapAt(slot) <= now) this.remove(slot, slot.expiresAt <= now ? "lifetime" : "idle");
    }
    this.tend();
    for (const slot of this.slots.idle) this.#alarm.by(this.#reapAt(slot));
    this.#alarm.by(this.#steps.next);
  }

  /** When an idle backend is to be closed: at the end of its life, or of its patience where there are more than need be. */
  #reapAt({ expiresAt, idleSince }: Slot<B>): number {
    if (this.slots.size + this.dials.size <= this.#settings.min) return expiresAt;
    return Math.min(expiresAt, idleSince + this.#settings.idleTimeoutMs);
  }
}
