import type { Peers } from "../../core/contracts/peers.ts";
import type { Exchange } from "../../core/exchange.ts";
import type { Awaitable, Hooks } from "../../core/plugin.ts";
import type { Clock } from "../../core/clock.ts";
import { refusal } from "./refusal.ts";
import { type Now, requestDeadline } from "./request_deadline.ts";

export interface DeadlineReader {
  /** The latest moment at which letting an exchange in is of use to who asks. */
  readonly patience: (x: Exchange) => number;
  /** Brings deadlines forward; undefined where nobody is believed. */
  readonly bringForward: Hooks["onRequest"] | undefined;
}

/**
 * What clients say of their time, and how far they are believed. Anybody may shorten his own wait: he gives up his place. Where it
 * ends what runs too, it ends a process: whoever may say when could do that again and again, at a moment of his choice, and each
 * time a new one has to be started. So that is for trusted proxies, or for those whom the configuration trusts all.
 */
export function deadlineReader(
  believed: "trusted" | "all" | "off",
  peers: Peers | undefined,
  { clock, wall }: { readonly clock: Clock; readonly wall: () => number },
): DeadlineReader {
  if (believed === "off") return { patience: (x) => x.deadline, bringForward: undefined };
  const now = (): Now => ({ monotonic: clock.now(), wall: wall() });
  const patience = (x: Exchange) => Math.min(x.deadline, requestDeadline(x.headers, x.started, now));
  const trusts = believed === "all" ? () => true : peers === undefined || peers.empty ? undefined : peers;
  if (trusts === undefined) return { patience, bringForward: undefined };
  const trusted = typeof trusts === "function" ? trusts : (x: Exchange) => trusts.trusts(x.peer.address);

  return {
    patience,
    bringForward(x: Exchange, next: () => Awaitable<Response>): Awaitable<Response> {
      const deadline = requestDeadline(x.headers, x.started, now);
      if (deadline < x.deadline && trusted(x)) {
        x.deadline = deadline;
        if (deadline <= clock.now()) return refusal("deadline", () => 0);
      }
      return next();
    },
  };
}
