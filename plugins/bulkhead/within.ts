import { thenable } from "../../core/hooks.ts";
import type { Awaitable } from "../../core/plugin.ts";
import type { BulkheadAnswer, BulkheadAsk, BulkheadDenial, BulkheadGrant, BulkheadStore } from "./store.ts";

/** Permits of one bulkhead, or of two. */
export type Held = Pick<BulkheadGrant, "granted" | "waitedMs" | "release">;

/** `around`: the bulkhead around the other one denied it. */
export type Denied = BulkheadDenial & { readonly around?: true };

/**
 * Takes permits of a bulkhead, then as many of the one around it, within one wait.
 *
 * Where the first is one of several keys that share the second, this is what makes the keys take turns: a key has no more places in
 * the shared line than it may have permits of its own, however many of it wait behind those. Of keys that are busy each gets the same
 * number of permits, and a newcomer is behind as many of another key as that key may have. A closed network of as many tokens a key in
 * one FIFO queue; API Priority and Fairness of Kubernetes states its bound in the same way, as so many requests and not one.
 */
export function acquireWithin(
  store: BulkheadStore,
  ask: BulkheadAsk,
  around: Pick<BulkheadAsk, "name" | "limit">,
): Awaitable<Held | Denied> {
  const own = store.acquire(ask);
  const then = (answer: BulkheadAnswer) => answer.granted ? enter(store, ask, around, answer) : answer;
  return thenable(own) ? Promise.resolve(own).then(then) : then(own as BulkheadAnswer);
}

function enter(
  store: BulkheadStore,
  { maxQueue: _, ...ask }: BulkheadAsk,
  around: Pick<BulkheadAsk, "name" | "limit">,
  own: BulkheadGrant,
): Awaitable<Held | Denied> {
  const { waitedMs } = own;
  const failed = (error: unknown): never => {
    giveBack(own);
    throw error;
  };
  const then = (answer: BulkheadAnswer): Held | Denied => {
    if (!answer.granted) {
      giveBack(own);
      return { ...answer, waitedMs: waitedMs + answer.waitedMs, around: true };
    }
    const release = () => {
      giveBack(answer);
      giveBack(own);
      return true;
    };
    return { granted: true, waitedMs: waitedMs + answer.waitedMs, release };
  };
  try {
    const answer = store.acquire({ ...ask, ...around, maxWaitMs: Math.max(ask.maxWaitMs - waitedMs, 0) });
    return thenable(answer) ? Promise.resolve(answer).then(then, failed) : then(answer as BulkheadAnswer);
  } catch (error) {
    return failed(error);
  }
}

function giveBack(grant: BulkheadGrant): void {
  const released = grant.release();
  // What the store cannot be told now the lease ends.
  if (thenable(released)) Promise.resolve(released).catch(() => {});
}
