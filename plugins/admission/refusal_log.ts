import type { Refusal } from "../../core/contracts/gates.ts";
import type { Log } from "../../core/plugin.ts";
import type { Clock } from "../../core/clock.ts";

/** Ms between two lines about the same gate and reason. */
const everyMs = 1000;

/** What has been left out of the log about one reason at one gate since the last line. */
interface Pending {
  count: number;
  /** Calls off the line that is to come. */
  readonly off: () => void;
}

/**
 * Tells the log who is turned away and why: the first at once, what follows within a second in one line with its count, so that
 * a flood of refusals is no flood of lines and none of them is lost.
 */
export class RefusalLog {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #pending = new Map<string, Map<Refusal, Pending>>();

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** What the gate of that name is to tell of each refusal. */
  of(gate: string): (reason: Refusal) => void {
    const pending = new Map<Refusal, Pending>();
    this.#pending.set(gate, pending);
    return (reason) => {
      const known = pending.get(reason);
      if (known === undefined) this.#tell(gate, pending, reason, 1);
      else known.count++;
    };
  }

  /** Writes what is still to be written. */
  close(): void {
    for (const [gate, pending] of this.#pending) {
      for (const [reason, { count, off }] of pending) {
        off();
        if (count > 0) this.#write(gate, reason, count);
      }
      pending.clear();
    }
  }

  #tell(gate: string, pending: Map<Refusal, Pending>, reason: Refusal, count: number): void {
    this.#write(gate, reason, count);
    const off = this.#clock.setTimer(everyMs, () => {
      const left = pending.get(reason)!.count;
      pending.delete(reason);
      if (left > 0) this.#tell(gate, pending, reason, left);
    });
    pending.set(reason, { count: 0, off });
  }

  /** `refused`: since the line before it. */
  #write(gate: string, reason: Refusal, refused: number): void {
    this.#log("warn", "Turned work away", { gate, reason, refused });
  }
}
