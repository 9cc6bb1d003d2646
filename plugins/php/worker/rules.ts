import type { Clock } from "../../../core/clock.ts";
import type { LifeRules } from "./life.ts";
import type { ProcessLook } from "./inspect.ts";

/** What one worker lives by. All times are ms. */
export interface MemberRules extends LifeRules {
  /** From its start until it asks for its first request; 30 s when absent. */
  readonly bootTimeout?: number;
  /** For a worker that was asked to stop to run its shutdown functions; 10 s when absent. */
  readonly stopGrace?: number;
  /**
   * How long a script may go on whose client has left before its worker is ended, by whether its answer had begun. The
   * request's deadline comes first in any case.
   *
   * An answer that had begun is a stream that nobody reads any more: the next print tells the script, and one that prints
   * nothing for a second only sleeps on a worker that others wait for. Before the first byte the script is in the middle of
   * its work, an order or a payment, perhaps: it may end that, as under every other PHP server.
   */
  readonly cancelGrace?: { readonly begun?: number; readonly silent?: number };
  /** Resident bytes at which a worker is ended whatever it does; 0 or absent: none. */
  readonly hardMemory?: number;
  /** How often workers at work are looked at, for `hardMemory` and for processes that a signal has stopped; 250 when absent. */
  readonly inspectEvery?: number;
  /** Looks at a process; without it memory is not limited and stopped processes are ended by their requests' deadlines. */
  readonly inspect?: (pid: number) => ProcessLook | undefined;
  readonly clock?: Clock;
}

/** A killed process that does not end (it hangs in the kernel) is counted as one for so long. */
export const unkillableMs = 5000;
/** A worker that lives so long, or has answered a request, has proved that its script works. */
export const proofMs = 1000;
/** A worker that was idle for so long is looked at before it is lent: it may have been stopped. */
export const staleMs = 1000;
/** A worker that ends so soon (ms) after it was sent a request may have ended before it had read it. */
export const raceMs = 100;
/** How often an idle worker is looked at where memory is limited: it may grow all the same. */
export const idleLookMs = 5000;
