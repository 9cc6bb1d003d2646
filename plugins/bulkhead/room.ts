import type { Gate } from "../../core/contracts/gates.ts";
import type { Place } from "./deadlock.ts";
import { type BulkheadView, viewed } from "./inspect.ts";
import type { MemoryGrant } from "./memory_grant.ts";
import type { BulkheadCounts } from "./store.ts";
import { WaitLine } from "./wait_line.ts";

/** One bulkhead: its gate, who holds and who waits, in order of arrival. */
export class Room implements Place {
  readonly name: string;
  readonly gate: Gate;
  readonly held: Set<MemoryGrant> = new Set();
  readonly line: WaitLine = new WaitLine();

  constructor(name: string, gate: Gate) {
    this.name = name;
    this.gate = gate;
  }

  get free(): number {
    return this.gate.limit - this.gate.used;
  }

  get idle(): boolean {
    return this.held.size === 0 && this.line.size === 0;
  }

  counts(now: number): BulkheadCounts {
    const { gate, held, line } = this;
    const oldestWaitMs = line.first === undefined ? 0 : now - line.first.entered;
    return { limit: gate.limit, active: gate.used, holders: held.size, queued: line.size, oldestWaitMs };
  }

  view(now: number): BulkheadView {
    return {
      name: this.name,
      ...this.counts(now),
      held: viewed(this.held, ({ weight, fence, since, owner }) => ({
        weight,
        fence,
        heldMs: now - since,
        owner: owner?.self,
      })),
      line: viewed(this.line, ({ weight, entered, owner }) => ({
        weight,
        waitedMs: now - entered,
        owner: owner?.self,
      })),
    };
  }
}
