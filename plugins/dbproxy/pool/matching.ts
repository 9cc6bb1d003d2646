import { type Openings, take } from "./openings.ts";
import type { Pooled } from "./options.ts";
import type { SupplyParts } from "./parts.ts";
import type { Request } from "./request.ts";
import type { Slot } from "./slots.ts";

/** Who is brought together, and where backends that suit come from. */
export interface MatchingParts<B extends Pooled, W> extends SupplyParts<B, W> {
  readonly openings: Openings<B, W>;
  /** The backend is the request's, which seeks no more. */
  lend(slot: Slot<B>, request: Request<B, W>, now: number): void;
}

/** Which idle backend is whose. */
export class Matching<B extends Pooled, W> {
  readonly #parts: MatchingParts<B, W>;

  constructor(parts: MatchingParts<B, W>) {
    this.#parts = parts;
  }

  /** The idle backend that suits best, of those that were used so lately that they need no check. */
  fresh(kind: string, want: W, now: number): Slot<B> | undefined {
    return this.#suiting(kind, want, now, now - this.#parts.settings.checkAfterMs);
  }

  /** Gives every request that seeks an idle backend, or makes sure that one is on its way. */
  serve(): void {
    const { seeking, care, pacer, dials, openings } = this.#parts;
    if (seeking.size === 0) return;
    const near = new Map<string, number>();
    care.count(near);
    const dialing = new Map<string, number>();
    // With the breaker open, dials that still go on promise nothing.
    if (!pacer.open) dials.count(dialing);
    for (const request of seeking) {
      if (this.#takeFresh(request) || take(near, request.kind)) continue;
      if (this.#checkIdle(request) || take(dialing, request.kind)) continue;
      openings.open(request);
    }
  }

  /** Gives the backend to whoever seeks its kind longest and can use it. False when nobody does. */
  offer(slot: Slot<B>, now: number): boolean {
    const { seeking, options, lend } = this.#parts;
    for (const request of seeking) {
      if (request.kind !== slot.backend.kind || options.score(slot.backend, request.want) === Infinity) continue;
      lend(slot, request, now);
      return true;
    }
    return false;
  }

  #takeFresh(request: Request<B, W>): boolean {
    const now = this.#parts.options.clock.now();
    const slot = this.fresh(request.kind, request.want, now);
    if (slot !== undefined) this.#parts.lend(slot, request, now);
    return slot !== undefined;
  }

  /** Begins to check an idle backend that would suit. */
  #checkIdle(request: Request<B, W>): boolean {
    const { options, care } = this.#parts;
    const slot = this.#suiting(request.kind, request.want, options.clock.now(), -Infinity);
    if (slot !== undefined) care.check(slot);
    return slot !== undefined;
  }

  /** The idle backend that suits best, of those used later than `after`: what was promised, found without a search, or the best. */
  #suiting(kind: string, want: W, now: number, after: number): Slot<B> | undefined {
    const { slots, options } = this.#parts;
    const { score, promised } = options;
    const backend = promised?.(want);
    const slot = backend === undefined ? undefined : slots.get(backend);
    const usable = slot?.state === "idle" && slot.idleSince > after && slot.expiresAt > now;
    if (usable && slot.backend.kind === kind && score(slot.backend, want) < Infinity) return slot;
    return slots.best(kind, want, now, after, score);
  }
}
