import type { Exchange } from "../../core/exchange.ts";
import type { Awaitable, Permit } from "../../core/plugin.ts";
import type { FairGate } from "./fair_gate.ts";
import type { Lane, LaneParts } from "./lane.ts";
import { Passage } from "./passage.ts";
import type { Terms } from "./rules.ts";
import type { SelfCalls } from "./self_calls.ts";
import type { SessionLines } from "./session_lines.ts";
import type { Steering } from "./steering.ts";

export interface RuledParts extends LaneParts {
  readonly classify: (x: Exchange) => Terms;
  /** Which exchanges must not run side by side: those with the same key. */
  readonly sessions?: { readonly lines: SessionLines; key(x: Exchange): string | undefined } | undefined;
  readonly self?: SelfCalls | undefined;
  /** The gate of the permits that are kept for the application's calls to itself. */
  readonly spare: () => FairGate | undefined;
  readonly steering?: Steering | undefined;
  /** Longest wait in ms, from the arrival at the lane to the permit. */
  readonly grace: number;
}

/** Exchanges on their way through one gate, each with a class, a key, a weight, and a permit of its own. */
export class RuledLane implements Lane {
  readonly parts: RuledParts;

  constructor(parts: RuledParts) {
    this.parts = parts;
  }

  admit(x: Exchange): Awaitable<Permit | Response | void> {
    const { classify, self, sessions, meter } = this.parts;
    const terms = classify(x);
    if (terms.exempt) {
      meter.of(terms.criticality).total.exempt.inc();
      return undefined;
    }
    const own = self?.made(x) ?? false;
    // Who calls himself holds his own session already: waiting for it would be waiting for himself.
    const session = own ? undefined : sessions?.key(x);
    return new Passage(this.parts, x, terms, session, own).start();
  }
}
