import type { Alarm } from "../../../core/alarm.ts";
import type { CoreError } from "../../../core/error.ts";
import type { Dial } from "./dials.ts";
import type { Pooled } from "./options.ts";
import type { SupplyParts } from "./parts.ts";
import type { Request } from "./request.ts";
import type { Slot } from "./slots.ts";
import type { Warmth } from "./warmth.ts";

/** What decides whether another backend is opened. */
export interface OpeningParts<B extends Pooled, W> extends SupplyParts<B, W> {
  readonly warmth: Warmth<W>;
  readonly alarm: Alarm;
  /** Closes an idle backend. */
  remove(slot: Slot<B>, reason: string): void;
  /** Ends a request that seeks. */
  refuse(request: Request<B, W>, error: CoreError): void;
}

/** When backends are opened, for whom, and which dials are given up for others. */
export class Openings<B extends Pooled, W> {
  readonly #parts: OpeningParts<B, W>;

  constructor(parts: OpeningParts<B, W>) {
    this.#parts = parts;
  }

  /** Opens a backend for the request, when it is time and there is room or room can be made. */
  open(request: Request<B, W>): void {
    const { pacer, options, dials, alarm, refuse } = this.#parts;
    if (pacer.open) return refuse(request, pacer.lastError!);
    const now = options.clock.now();
    const at = pacer.dialAt(now, dials.size);
    if (at > now) alarm.by(at);
    else if (this.#makeRoom()) dials.start("request", request.kind, request.want, request);
  }

  /** Room for one more, if need be at the expense of the backend that has been idle longest. */
  #makeRoom(): boolean {
    const { slots, dials, remove } = this.#parts;
    const { max } = this.#parts.settings;
    const [oldest] = slots.idle;
    if (slots.size + dials.size >= max && oldest !== undefined) remove(oldest, "room");
    return slots.size + dials.size < max;
  }

  /** Ends dials that nobody waits for: all when this stops, else as many as others lack the room they take. True if it ended any. */
  giveUpSurplus(stopping: boolean): boolean {
    const { slots, dials, care, seeking, settings } = this.#parts;
    const crowded = slots.size + dials.size >= settings.max && slots.idle.length === 0;
    if (!crowded && !stopping) return false;
    const coming = new Map<string, number>();
    care.count(coming);
    dials.count(coming);
    let lacking = 0;
    for (const { kind } of seeking) if (!take(coming, kind)) lacking++;
    const surplus = ({ kind }: Dial<B, W>) => take(coming, kind);
    let any = false;
    for (let n = stopping ? Infinity : lacking; n > 0 && dials.giveUp(surplus); n--) any = true;
    return any;
  }

  keepMinimum(): void {
    const { slots, dials, pacer, warmth, alarm, options, settings } = this.#parts;
    const { want, at } = warmth;
    if (want === undefined || pacer.open) return;
    const now = options.clock.now();
    while (slots.size + dials.size < settings.min) {
      const due = Math.max(at, pacer.dialAt(now, dials.size));
      if (due > now) return alarm.by(due);
      dials.start("warm", options.kindOf(want), want);
    }
  }

  /** Opens one in advance, unless another is on its way or it would be the last that may be. */
  spare(want: W): void {
    const { slots, dials, pacer, options, settings } = this.#parts;
    if (pacer.open || dials.size > 0 || slots.size + 1 >= settings.max) return;
    const now = options.clock.now();
    if (pacer.dialAt(now, 0) <= now) dials.start("warm", options.kindOf(want), want);
  }

  /**
   * While the breaker is open, sees now and then whether the upstream is back. There is always room: the dial that failed has
   * left its place, and no other has brought a backend since, or the breaker would be closed.
   */
  probe(): void {
    const { dials, pacer, warmth, alarm, options } = this.#parts;
    const { probeAt } = pacer;
    const { want } = warmth;
    if (want === undefined) return;
    if (probeAt > options.clock.now()) return alarm.by(probeAt);
    // Not for what failed, which may be something that no server has.
    dials.start("probe", options.kindOf(want), want);
  }
}

/** Counts one of the kind down, if there is one. */
export function take(counts: Map<string, number>, kind: string): boolean {
  const count = counts.get(kind) ?? 0;
  if (count > 0) counts.set(kind, count - 1);
  return count > 0;
}
