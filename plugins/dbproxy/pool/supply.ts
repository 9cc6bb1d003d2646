import type { CoreError } from "../../../core/error.ts";
import { Alarm } from "./alarm.ts";
import { type Dial, type DialOwner, Dials } from "./dials.ts";
import { poolTimeout } from "./errors.ts";
import type { Clock, DialFailure, Pooled, PoolEvents, PoolOptions } from "./options.ts";
import { Pacer } from "./pacer.ts";
import type { Request } from "./request.ts";
import type { PoolSettings } from "./settings.ts";
import { type Slot, Slots } from "./slots.ts";
import { type Outcome, Steps } from "./steps.ts";

/** A backend that is being cleaned for so long (ms) is no longer waited for instead of opening another. */
const cleanPatience = 10;
/** Waits (ms) before the minimum of connections is tried again when the server itself said no. */
const warmWaits = { first: 1_000, longest: 30_000 };

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
export class Supply<B extends Pooled, W> implements DialOwner<B, W> {
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
  /** When each backend that is being cleaned began to be. */
  readonly #cleans = new Map<Slot<B>, number>();
  /** What the next connection that nobody asked for is opened for. */
  #warm: W | undefined;
  #warmAt = -Infinity;
  #warmWait = 0;
  /** What a probe is made for: what was last missed, or failed. */
  #missing: { readonly kind: string; readonly want: W } | undefined;
  #missed = false;
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
    this.#warm = options.warm;
    this.#alarm = new Alarm(options.clock, () => this.#wake());
    const { dialRate: rate, max: burst, breakerFailures: failures, breakerMs: ms } = settings;
    this.pacer = new Pacer({ rate, burst, failures, ms });
    this.dials = new Dials(options, settings, this.#steps, this.pacer, this);
  }

  /** The idle backend that suits best, of those that were used so lately that they need no check. */
  fresh(kind: string, want: W, now: number): Slot<B> | undefined {
    return this.slots.best(kind, want, now, now - this.#settings.checkAfterMs, this.#options.score);
  }

  seek(request: Request<B, W>): void {
    this.seeking.add(request);
    this.#alarm.by(request.deadline);
    if (this.#options.warm === undefined) this.#warm = request.want;
    this.tend();
  }

  /** Nobody could wait for this while the breaker is open: the next probe is worth an idle backend of another kind. */
  miss(kind: string, want: W): void {
    this.#missing = { kind, want };
    this.#missed = true;
  }

  /** A lent backend comes back to be cleaned. */
  clean(slot: Slot<B>): void {
    const now = this.#clock.now();
    if (slot.expiresAt <= now) return this.remove(slot, "lifetime");
    let cleaned: Promise<boolean> | true;
    try {
      cleaned = this.#options.clean(slot.backend);
    } catch {
      return this.remove(slot, "clean_failed");
    }
    if (cleaned === true) return this.#returned(slot);
    this.slots.become(slot, "cleaning");
    this.#cleans.set(slot, now);
    const going = cleaned;
    this.#run(this.#settings.cleanTimeoutMs, () => going, (outcome) => {
      if (!this.slots.has(slot)) return;
      if (outcome.ok && outcome.value) this.#returned(slot);
      else this.remove(slot, !outcome.ok && outcome.timedOut ? "clean_timeout" : "clean_failed");
    });
  }

  /** Closes a backend, whatever it is doing. */
  remove(slot: Slot<B>, reason: string): void {
    const permit = slot.state === "lent" || slot.state === "cleaning";
    if (!this.slots.delete(slot)) return;
    this.#cleans.delete(slot);
    this.#close(slot.backend, reason);
    if (permit) this.#owner.permitBack();
    this.tend();
  }

  /** Opens nothing that nobody waits for, and keeps nothing that comes back. */
  stop(): void {
    this.#stopping = true;
    this.tend();
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
        this.#serve();
        this.#giveUpSurplus();
        this.#keepMinimum();
        this.#probe();
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
    this.#warmWait = 0;
    this.#warmAt = -Infinity;
    const expiresAt = now + this.#settings.maxLifetimeMs * (0.9 + 0.1 * this.#options.random());
    const slot: Slot<B> = { backend, expiresAt, state: "free", idleSince: now, doom: undefined };
    this.slots.add(slot);
    this.#offer(slot);
    this.tend();
  }

  dialFailed(dial: Dial<B, W>, error: CoreError, failure: DialFailure): void {
    this.#events.dialFailed?.(error, failure);
    this.#missing = dial;
    this.#tellBreaker();
    if (dial.purpose === "warm" && failure !== "unreachable") {
      this.#warmWait = Math.min(warmWaits.longest, Math.max(warmWaits.first, 2 * this.#warmWait));
      this.#warmAt = this.#clock.now() + this.#warmWait;
    }
    if (failure === "final" && dial.request !== undefined) this.refuse(dial.request, error);
    this.tend();
  }

  late(backend: B): void {
    this.#close(backend, "late");
  }

  wakeBy(at: number): void {
    this.#alarm.by(at);
  }

  // Bringing together.

  /** Gives every request that seeks an idle backend, or makes sure that one is on its way. */
  #serve(): void {
    if (this.seeking.size === 0) return;
    const near = this.#soonFree();
    const dialing = new Map<string, number>();
    // With the breaker open, dials that still go on promise nothing.
    if (!this.pacer.open) this.dials.count(dialing);
    for (const request of this.seeking) {
      if (this.#takeFresh(request) || take(near, request.kind)) continue;
      if (this.#checkIdle(request) || take(dialing, request.kind)) continue;
      this.#open(request);
    }
  }

  /** How many backends of each kind are being checked, or cleaned since a moment ago. */
  #soonFree(): Map<string, number> {
    const soon = new Map<string, number>();
    const now = this.#clock.now();
    for (const slot of this.slots.all()) {
      const since = this.#cleans.get(slot);
      if (slot.state !== "checking" && (since === undefined || since + cleanPatience <= now)) continue;
      soon.set(slot.backend.kind, (soon.get(slot.backend.kind) ?? 0) + 1);
      if (since !== undefined) this.#alarm.by(since + cleanPatience);
    }
    return soon;
  }

  #takeFresh(request: Request<B, W>): boolean {
    const now = this.#clock.now();
    const slot = this.fresh(request.kind, request.want, now);
    if (slot !== undefined) this.#lend(slot, request, now);
    return slot !== undefined;
  }

  /** Begins to check an idle backend that would suit. */
  #checkIdle(request: Request<B, W>): boolean {
    const slot = this.slots.best(request.kind, request.want, this.#clock.now(), -Infinity, this.#options.score);
    if (slot !== undefined) this.#check(slot);
    return slot !== undefined;
  }

  /** Opens a backend for the request, when it is time and there is room or room can be made. */
  #open(request: Request<B, W>): void {
    if (this.pacer.open) {
      this.miss(request.kind, request.want);
      return this.refuse(request, this.pacer.lastError!);
    }
    const now = this.#clock.now();
    const at = this.pacer.dialAt(now, this.dials.size);
    if (at > now) this.#alarm.by(at);
    else if (this.#makeRoom()) this.dials.start("request", request.kind, request.want, request);
  }

  /** Room for one more, if need be at the expense of the backend that has been idle longest. */
  #makeRoom(): boolean {
    const { max } = this.#settings;
    const [oldest] = this.slots.idle;
    if (this.slots.size + this.dials.size >= max && oldest !== undefined) this.remove(oldest, "room");
    return this.slots.size + this.dials.size < max;
  }

  /** Ends dials that nobody waits for: all when this stops, else as many as others lack the room they take. */
  #giveUpSurplus(): void {
    const crowded = this.slots.size + this.dials.size >= this.#settings.max && this.slots.idle.length === 0;
    if (!crowded && !this.#stopping) return;
    const coming = this.#soonFree();
    this.dials.count(coming);
    let lacking = 0;
    for (const { kind } of this.seeking) if (!take(coming, kind)) lacking++;
    const surplus = ({ kind, purpose }: Dial<B, W>) => purpose === "probe" || take(coming, kind);
    for (let n = this.#stopping ? Infinity : lacking; n > 0 && this.dials.giveUp(surplus); n--) this.#again = true;
  }

  /** Closes what is idle when this stops and nobody is left who could want it. */
  #closeIdle(): void {
    if (!this.#stopping || this.seeking.size > 0 || this.#options.gate.queued > 0) return;
    for (const slot of [...this.slots.idle]) this.remove(slot, "drain");
  }

  #keepMinimum(): void {
    const { min } = this.#settings;
    if (this.#stopping || this.#warm === undefined || this.pacer.open) return;
    const now = this.#clock.now();
    while (this.slots.size + this.dials.size < min) {
      const at = Math.max(this.#warmAt, this.pacer.dialAt(now, this.dials.size));
      if (at > now) return this.#alarm.by(at);
      this.dials.start("warm", this.#options.kindOf(this.#warm), this.#warm);
    }
  }

  /** While the breaker is open, sees now and then whether the upstream is back. */
  #probe(): void {
    const now = this.#clock.now();
    const { probeAt } = this.pacer;
    if (this.#stopping || this.#missing === undefined) return;
    if (probeAt > now) return this.#alarm.by(probeAt);
    const room = this.#missed ? this.#makeRoom() : this.slots.size + this.dials.size < this.#settings.max;
    if (room) {
      this.#missed = false;
      this.dials.start("probe", this.#missing.kind, this.#missing.want);
    } else {
      this.pacer.postpone(now);
      this.#alarm.by(this.pacer.probeAt);
    }
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
    for (const request of this.seeking) {
      if (request.kind !== slot.backend.kind) continue;
      if (this.#options.score(slot.backend, request.want) < Infinity) return this.#lend(slot, request, now);
    }
    this.slots.become(slot, "idle");
    this.#alarm.by(this.#reapAt(slot));
  }

  /** A clean backend is back, and gives up its permit. */
  #returned(slot: Slot<B>): void {
    this.#cleans.delete(slot);
    this.slots.become(slot, "free");
    this.#offer(slot);
    this.#owner.permitBack();
    if (this.seeking.size > 0 || this.#stopping) this.tend();
  }

  #check(slot: Slot<B>): void {
    const { checkTimeoutMs } = this.#settings;
    const startedAt = this.#clock.now();
    this.slots.become(slot, "checking");
    this.#run(checkTimeoutMs, () => this.#options.check(slot.backend), (outcome) => {
      if (!this.slots.has(slot)) return;
      if (outcome.ok && outcome.value) {
        this.slots.become(slot, "free");
        this.#offer(slot);
        return this.tend();
      }
      const timedOut = !outcome.ok && outcome.timedOut;
      this.remove(slot, timedOut ? "check_timeout" : "check_failed");
      // Silence is the way of a whole network path: the others that were not heard of since are not waited for in turn.
      if (timedOut) this.#removeSilent(startedAt);
    });
  }

  #removeSilent(since: number): void {
    const stale = this.slots.idle.filter((slot) => slot.idleSince + this.#settings.checkAfterMs <= since);
    for (const slot of stale) this.remove(slot, "check_timeout");
  }

  #run<T>(ms: number, start: () => Promise<T>, done: (outcome: Outcome<T>) => void): void {
    const deadline = this.#clock.now() + ms;
    this.#steps.run(deadline, start, done);
    this.#alarm.by(deadline);
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
      if (request.deadline > now) this.#alarm.by(request.deadline);
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

/** Counts one of the kind down, if there is one. */
function take(counts: Map<string, number>, kind: string): boolean {
  const count = counts.get(kind) ?? 0;
  if (count > 0) counts.set(kind, count - 1);
  return count > 0;
}
