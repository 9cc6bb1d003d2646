import type { CoreError } from "../../../core/error.ts";
import type { Generation } from "./boots.ts";
import type { Staff } from "./staff.ts";

/** Failures in a row after which a reload is given up: what was wrong then is wrong in the script. */
const attempts = 3;

/** One reload: workers of a new generation take the places of the older ones, one by one. */
export class Roll {
  readonly generation: Generation;
  readonly done: Promise<void>;
  /** A worker of the new generation has booted: from here on the pool boots no others. */
  committed = false;
  /** Since when a successor waits for an old worker that is at work. */
  #blockedSince: number | undefined;
  #settle!: { readonly resolve: () => void; readonly reject: (error: CoreError) => void };

  constructor(generation: Generation) {
    this.generation = generation;
    this.done = new Promise((resolve, reject) => this.#settle = { resolve, reject });
  }

  /** The new generation boots: all others are to be replaced, and boot no more. */
  commit(staff: Staff): void {
    this.committed = true;
    for (const member of [...staff]) {
      if (member.generation === this.generation) continue;
      if (member.state === "booting") member.end("reload");
      else if (member.serving) member.due = "reload";
    }
  }

  /** Ends those of the new generation that boot. */
  abandon(staff: Staff): void {
    for (const member of [...staff]) if (member.generation === this.generation) member.end("reload");
  }

  /** Whether a boot that failed ends the reload. */
  givesUp(timedOut: boolean): boolean {
    return timedOut || this.generation.boots.failures >= attempts;
  }

  /**
   * Looks how far it has come. Old workers that are at work for long end behind their requests, without a successor each.
   *
   * @param patience how long (ms) a successor waits before
   * @returns `done` when no old worker takes a request any more, else when to look again at the latest
   */
  turn(staff: Staff, now: number, patience: number): "done" | number {
    const old = [...staff].filter((member) => member.usable && member.generation !== this.generation);
    if (old.length === 0) return "done";
    if (staff.surplus <= 0) {
      this.#blockedSince = undefined;
      return Infinity;
    }
    const until = (this.#blockedSince ??= now) + patience;
    if (now < until) return until;
    for (const member of old) member.final = true;
    return "done";
  }

  resolve(): void {
    this.#settle.resolve();
  }

  reject(error: CoreError): void {
    this.#settle.reject(error);
  }
}
