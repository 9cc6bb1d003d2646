import type { Pooled } from "./options.ts";

/** `free`: for a moment, between two of the others; it holds no permit. */
export type SlotState = "idle" | "free" | "lent" | "cleaning" | "checking";

/** A backend that exists. */
export interface Slot<B> {
  readonly backend: B;
  /** When its life ends; ms. */
  readonly expiresAt: number;
  state: SlotState;
  /** When it was last used; ms. */
  idleSince: number;
  /** Why it is to be closed when it comes back. */
  doom: string | undefined;
}

/** The backends that exist, and those of them that are idle, last used last. */
export class Slots<B extends Pooled> {
  readonly #all = new Map<B, Slot<B>>();
  readonly #idle: Slot<B>[] = [];

  get size(): number {
    return this.#all.size;
  }

  /** The least recently used first. */
  get idle(): readonly Slot<B>[] {
    return this.#idle;
  }

  get(backend: B): Slot<B> | undefined {
    return this.#all.get(backend);
  }

  all(): Iterable<Slot<B>> {
    return this.#all.values();
  }

  add(slot: Slot<B>): void {
    this.#all.set(slot.backend, slot);
  }

  /** Whether the slot was still there. */
  delete(slot: Slot<B>): boolean {
    if (slot.state === "idle") this.#idle.splice(this.#idle.lastIndexOf(slot), 1);
    return this.#all.delete(slot.backend);
  }

  has(slot: Slot<B>): boolean {
    return this.#all.get(slot.backend) === slot;
  }

  /** Changes what is done with a slot. */
  become(slot: Slot<B>, state: SlotState): void {
    if (slot.state === state) return;
    if (slot.state === "idle") this.#idle.splice(this.#idle.lastIndexOf(slot), 1);
    if (state === "idle") this.#idle.push(slot);
    slot.state = state;
  }

  /**
   * Of the idle ones of this kind the one with the lowest finite score, of equals the last used; only those used
   * later than `after`.
   */
  best<W>(
    kind: string,
    want: W,
    now: number,
    after: number,
    score: (backend: B, want: W) => number,
  ): Slot<B> | undefined {
    let best: Slot<B> | undefined;
    let lowest = Infinity;
    for (let i = this.#idle.length - 1; i >= 0 && lowest > 0; i--) {
      const slot = this.#idle[i]!;
      if (slot.idleSince <= after) break;
      if (slot.backend.kind !== kind || slot.expiresAt <= now) continue;
      const points = score(slot.backend, want);
      if (points < lowest) {
        best = slot;
        lowest = points;
      }
    }
    return best;
  }
}
