import type { Exchange } from "../../core/exchange.ts";

/** The part of an exchange that admission looks at; reading anything else is an error. */
export class FakeExchange {
  readonly deadline: number;
  readonly extra: (readonly [string, string])[] = [];
  gone: boolean = false;
  /** Listeners registered for the client's leaving. */
  readonly leavers: Set<() => void> = new Set();

  constructor(deadline: number = Infinity) {
    this.deadline = deadline;
  }

  get signal(): AbortSignal {
    throw new Error("Expected admission not to make an AbortSignal");
  }

  onGone(left: () => void): () => void {
    this.leavers.add(left);
    return () => void this.leavers.delete(left);
  }

  leave(): void {
    this.gone = true;
    for (const left of this.leavers) left();
  }

  get exchange(): Exchange {
    return this as unknown as Exchange;
  }
}
