import type { Refusal, Waiter } from "../../core/contracts/gates.ts";
import { type Clock, systemClock } from "../../core/clock.ts";
import { FairGate } from "./fair_gate.ts";

export interface SessionLinesOptions {
  /** Most who wait, of all keys together; more are refused as `full`. */
  readonly maxQueue: number;
  /** Most who wait of one key; more are refused as `key`. */
  readonly keyQueue: number;
  /** Longest wait in ms. */
  readonly grace: number;
  readonly clock?: Clock;
  /** Told of each refusal, before whoever is refused. */
  readonly onRefused?: (reason: Refusal) => void;
  /** Told what a waiter's callback threw. */
  readonly onError?: (error: unknown) => void;
}

/** A place in the line of a key. */
export interface Turn {
  /** Leaves the line; true when it was in it. No callback follows. */
  cancel(): boolean;
}

/**
 * Lets one of each key in at a time, the others in order of arrival: before a gate, so that who waits for his own key holds no
 * permit. A key that nobody holds costs nothing, one that is held but not waited for an entry in a map, and only one that is
 * waited for a gate of its own.
 *
 * @example
 * ```ts
 * const entry = lines.enter(session, { onGrant: run, onRefuse: answer });
 * if (entry === "granted") run();
 * // when the work has ended:
 * lines.leave(session);
 * ```
 */
export class SessionLines {
  readonly #options: SessionLinesOptions;
  /** Held keys; with a gate once somebody waits. */
  readonly #held = new Map<string, FairGate | undefined>();
  #waiting = 0;
  #shut = false;

  constructor(options: SessionLinesOptions) {
    this.#options = options;
  }

  /** Keys that are held. */
  get keys(): number {
    return this.#held.size;
  }

  /** Who waits, of all keys. */
  get queued(): number {
    return this.#waiting;
  }

  /** Lets in (`granted`: no callback follows), gives a place in line (one of the callbacks follows), or refuses. */
  enter(key: string, who: Waiter): "granted" | Turn | Refusal {
    const entry = this.#enter(key, who);
    if (typeof entry === "string" && entry !== "granted") this.#options.onRefused?.(entry);
    return entry;
  }

  #enter(key: string, who: Waiter): "granted" | Turn | Refusal {
    if (this.#shut) return "draining";
    if (!this.#held.has(key)) {
      this.#held.set(key, undefined);
      return "granted";
    }
    const { maxQueue, keyQueue, grace, clock = systemClock, onError } = this.#options;
    if (this.#waiting >= maxQueue) return "full";
    let gate = this.#held.get(key);
    if (gate === undefined) {
      gate = new FairGate({ name: "session", limit: 1, grace, clock, ...(onError === undefined ? {} : { onError }) });
      gate.tryEnter();
      this.#held.set(key, gate);
    }
    if (gate.queued >= keyQueue) return "key";
    const waiter: Waiter = {
      ...(who.deadline === undefined ? {} : { deadline: who.deadline }),
      onGrant: (waited) => {
        this.#waiting--;
        who.onGrant(waited);
      },
      onRefuse: (reason, waited) => {
        this.#waiting--;
        this.#options.onRefused?.(reason);
        who.onRefuse(reason, waited);
      },
    };
    const verdict = gate.enter(waiter);
    if (verdict !== "queued") return verdict;
    this.#waiting++;
    const line = gate;
    return {
      cancel: () => {
        if (!line.cancel(waiter)) return false;
        this.#waiting--;
        this.#forget(key, line);
        return true;
      },
    };
  }

  /** Whoever was let in under this key has ended; the next has his turn before this returns. */
  leave(key: string): void {
    const gate = this.#held.get(key);
    if (gate === undefined) this.#held.delete(key);
    else {
      gate.leave();
      this.#forget(key, gate);
    }
  }

  /** Refuses all who wait and all who come. Those inside may still leave. */
  close(): void {
    this.#shut = true;
    for (const gate of this.#held.values()) gate?.close();
  }

  /** Drops a key that nobody holds. Another may hold it anew by now: callbacks ran. */
  #forget(key: string, gate: FairGate): void {
    if (gate.used === 0 && this.#held.get(key) === gate) this.#held.delete(key);
  }
}
