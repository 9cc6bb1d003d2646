import { FairGate } from "./fair_gate.ts";
import { Line } from "./line.ts";
import type { LineOptions } from "./gate_options.ts";

/**
 * The discipline to compare {@linkcode FairGate} with, not to serve with: permits that come back lie free until the woken
 * head of the line gets to run, a newcomer may take them first, and a head that lost the race goes to the back. Mean wait
 * and throughput are those of the fair gate; the tail comes in whole laps of the line.
 */
export class BargingGate extends FairGate {
  declare protected readonly line: Line;
  #racing = false;
  /** Woken heads whose permit a newcomer took. */
  #lost = 0;
  readonly #wakeMs: number;

  /** `wakeMs`: how long a woken head takes until it runs, and newcomers may come between; longer where a scheduler has other work. */
  constructor(options: LineOptions, wakeMs = 0) {
    super(options, new Line(), false);
    this.#wakeMs = wakeMs;
  }

  override tryEnter(weight = 1): boolean {
    const head = this.line.head;
    if (head === undefined || weight > this.max - this.inUse || this.shut) return super.tryEnter(weight);
    if (this.fits(head)) {
      this.#lost++;
      this.overtaken();
    }
    this.inUse += weight;
    this.tally.immediate++;
    return true;
  }

  override get oldestWait(): number {
    let oldest = Infinity;
    for (const node of this.line) oldest = Math.min(oldest, node.entered);
    return this.line.size === 0 ? 0 : this.clock.now() - oldest;
  }

  protected override serve(): void {
    const head = this.line.head;
    if (head === undefined || !this.fits(head) || this.#racing) return;
    this.#racing = true;
    this.clock.setTimer(this.#wakeMs, () => this.#race());
  }

  #race(): void {
    this.#racing = false;
    const now = this.clock.now();
    while (this.grantNext(now));
    for (; this.#lost > 0; this.#lost--) {
      const loser = this.line.head;
      if (loser === undefined) continue;
      this.line.remove(loser);
      this.line.push(loser);
    }
    this.deliver();
    this.serve();
  }
}
