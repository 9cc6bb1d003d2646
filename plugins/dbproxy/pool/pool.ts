import type { Gate, Refusal } from "../../../core/contracts/gates.ts";
import { CoreError } from "../../../core/error.ts";
import { poolDraining, poolFull, poolTimeout } from "./errors.ts";
import type { Checkout, CheckoutWaiter, Clock, Pooled, PoolEvents, PoolOptions, PoolStats } from "./options.ts";
import { Request, type RequestOwner } from "./request.ts";
import { type PoolSettings, settingsOf } from "./settings.ts";
import type { Slot } from "./slots.ts";
import { Supply, type SupplyOwner } from "./supply.ts";

/** Of whoever was served or refused within the call. */
const over: Checkout = { cancel() {} };

/**
 * Backends that are lent one at a time, in the order in which they were asked for.
 *
 * Whoever asks first takes a permit of the gate, and so stands in its line when all are out. With the permit he has an idle
 * backend, or seeks one (see {@linkcode Supply}). Permits out = backends lent or being cleaned + requests that seek.
 */
export class Pool<B extends Pooled, W> {
  readonly #options: PoolOptions<B, W>;
  readonly #settings: PoolSettings;
  readonly #gate: Gate;
  readonly #clock: Clock;
  readonly #events: PoolEvents;
  readonly #supply: Supply<B, W>;
  /** In line at the gate. */
  readonly #queued = new Set<Request<B, W>>();
  readonly #drained: (() => void)[] = [];
  #draining = false;
  /** What the requests tell. */
  readonly #requests: RequestOwner<B, W> = {
    granted: (request) => {
      this.#queued.delete(request);
      this.#seek(request);
    },
    turnedAway: (request, reason) => {
      this.#turnAway(request, reason);
      if (this.#draining) this.#supply.tend();
    },
    cancelled: (request) => this.#cancel(request),
  };

  constructor(options: PoolOptions<B, W>) {
    this.#options = options;
    this.#settings = settingsOf(options);
    this.#gate = options.gate;
    this.#clock = options.clock;
    this.#events = options.onEvent ?? {};
    const owner: SupplyOwner<B, W> = {
      lent: (slot, request, now) => this.#lent(slot, request, now),
      refused: (request, error) => {
        this.#refuse(request, error);
        this.#gate.leave();
      },
      permitBack: () => this.#gate.leave(),
      emptied: () => this.#tellDrained(),
    };
    this.#supply = new Supply(options, this.#settings, owner);
    this.#supply.tend();
  }

  /** Lends a backend, within this call when one that suits is free, else later. */
  checkout(want: W, who: CheckoutWaiter<B>): Checkout {
    const now = this.#clock.now();
    const kind = this.#options.kindOf(want);
    const { pacer, seeking } = this.#supply;
    if (!this.#draining && this.#gate.tryEnter()) {
      const slot = seeking.size === 0 ? this.#supply.fresh(kind, want, now) : undefined;
      if (slot === undefined) return this.#seek(this.#request(kind, want, who, now));
      this.#supply.slots.become(slot, "lent");
      this.#events.waited?.(0);
      who.onBackend(slot.backend, 0);
      return over;
    }
    const request = this.#request(kind, want, who, now);
    if (this.#draining) this.#turnAway(request, "draining");
    else if (pacer.open) this.#refuse(request, pacer.lastError!);
    else {
      const verdict = this.#gate.enter(request);
      if (verdict === "queued") this.#queued.add(request);
      else if (verdict === "granted") this.#seek(request);
      else this.#turnAway(request, verdict);
    }
    return request;
  }

  /** The session is over: the backend is cleaned and serves another. */
  release(backend: B): void {
    const slot = this.#supply.slots.get(backend);
    if (slot?.state !== "lent") {
      throw new CoreError("DB_POOL_RELEASE", `Cannot take back backend ${backend.id}: it is not lent; release it once`);
    }
    if (slot.doom !== undefined) this.#supply.remove(slot, slot.doom);
    else if (this.#draining && this.#waiting === 0) this.#supply.remove(slot, "drain");
    else this.#supply.clean(slot);
  }

  /** The backend must not be used again. Without effect when the pool has closed it already. */
  discard(backend: B, reason: string): void {
    const slot = this.#supply.slots.get(backend);
    if (slot !== undefined) this.#supply.remove(slot, reason);
  }

  /** The backend's connection ended, or spoke, while nobody used it. One that is lent is closed when it comes back. */
  lost(backend: B, reason: string): void {
    const slot = this.#supply.slots.get(backend);
    if (slot?.state === "lent") slot.doom ??= reason;
    else if (slot !== undefined) this.#supply.remove(slot, reason);
  }

  /** The idle backends, last used first, and whether more may be opened beside all there are. */
  idle(): { readonly backends: readonly B[]; readonly room: boolean } {
    const { slots, dials } = this.#supply;
    return {
      backends: slots.idle.map((slot) => slot.backend).reverse(),
      room: slots.size + dials.size < this.#settings.max,
    };
  }

  /** Opens one for this in advance, where that takes nothing from anybody. */
  spare(want: W): void {
    if (!this.#draining) this.#supply.spare(want);
  }

  /** The scores of idle backends have changed by themselves: one may suit who seeks. */
  reconsider(): void {
    if (this.#supply.seeking.size > 0) this.#supply.tend();
  }

  /** Refuses newcomers and serves those who wait already; resolves when every backend has come back and is closed. */
  drain(): Promise<void> {
    return new Promise((resolve) => {
      this.#draining = true;
      this.#drained.push(resolve);
      this.#supply.stop();
    });
  }

  /** Refuses everybody, and closes all that is not lent now, the rest when it comes back. */
  close(): void {
    this.#draining = true;
    for (const request of this.#queued) if (this.#gate.cancel(request)) this.#turnAway(request, "draining");
    for (const request of this.#supply.seeking) this.#supply.refuse(request, poolDraining());
    this.#supply.end();
  }

  stats(): PoolStats {
    const { slots, dials, pacer } = this.#supply;
    const count = { idle: 0, free: 0, lent: 0, cleaning: 0, checking: 0 };
    const kinds = new Map<string, number>();
    for (const { state, backend } of slots.all()) {
      count[state]++;
      kinds.set(backend.kind, (kinds.get(backend.kind) ?? 0) + 1);
    }
    return {
      max: this.#settings.max,
      idle: count.idle + count.free,
      used: count.lent,
      cleaning: count.cleaning,
      checking: count.checking,
      dialing: dials.size,
      waiting: this.#waiting,
      breakerOpen: pacer.open,
      kinds,
    };
  }

  get #waiting(): number {
    return this.#queued.size + this.#supply.seeking.size;
  }

  #request(kind: string, want: W, who: CheckoutWaiter<B>, now: number): Request<B, W> {
    const deadline = Math.min(who.deadline ?? Infinity, now + this.#settings.poolTimeoutMs);
    return new Request(this.#requests, kind, want, who, now, deadline);
  }

  /** The request has its permit. */
  #seek(request: Request<B, W>): Request<B, W> {
    const { seeking } = this.#supply;
    const now = this.#clock.now();
    const slot = seeking.size === 0 ? this.#supply.fresh(request.kind, request.want, now) : undefined;
    if (slot === undefined) {
      request.state = "seeking";
      // The pool's timeout is for the line. Whoever has his permit may be kept by a connection that is opened or checked.
      const time = Math.max(request.deadline, now + this.#settings.connectTimeoutMs);
      request.seekUntil = Math.min(request.who.deadline ?? Infinity, time);
      this.#supply.seek(request);
    } else {
      this.#supply.slots.become(slot, "lent");
      this.#lent(slot, request, now);
    }
    return request;
  }

  #lent(slot: Slot<B>, request: Request<B, W>, now: number): void {
    request.state = "done";
    const waited = now - request.startedAt;
    this.#events.waited?.(waited);
    request.who.onBackend(slot.backend, waited);
  }

  #cancel(request: Request<B, W>): void {
    const { state } = request;
    request.state = "done";
    if (state === "queued") {
      this.#queued.delete(request);
      this.#gate.cancel(request);
    } else {
      this.#supply.seeking.delete(request);
      this.#gate.leave();
    }
    this.#supply.tend();
  }

  #turnAway(request: Request<B, W>, reason: Refusal): void {
    this.#queued.delete(request);
    const { max } = this.#settings;
    const { lastError } = this.#supply.pacer;
    const waited = this.#clock.now() - request.startedAt;
    if (reason === "full") this.#refuse(request, poolFull(max, this.#gate.queued));
    else if (reason === "draining" || reason === "cancelled") this.#refuse(request, poolDraining());
    else this.#refuse(request, lastError ?? poolTimeout(max, waited));
  }

  #refuse(request: Request<B, W>, error: CoreError): void {
    request.state = "done";
    this.#events.refused?.(error.code);
    request.who.onRefuse(error);
  }

  #tellDrained(): void {
    if (this.#queued.size === 0) { for (const resolve of this.#drained.splice(0)) resolve(); }
  }
}
