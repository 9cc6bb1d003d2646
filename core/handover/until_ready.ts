import { type Clock, systemClock } from "../clock.ts";
import { CoreError } from "../error.ts";

/** Times in ms. */
export interface Patience {
  readonly clock?: Clock;
  /** For all parts together; 60 s when absent. */
  readonly longest?: number;
  /** For one that says of itself the same thing, and not that it is starting; 5 s when absent. */
  readonly stuck?: number;
  readonly stop?: AbortSignal | undefined;
}

const every = 50;

/**
 * Waits until all parts are ready but those of `excused`.
 *
 * @throws CoreError `HANDOVER_NOT_READY` when time is over, or when a part will not become ready as it seems
 */
export async function untilReady(
  parts: () => Readonly<Record<string, string>>,
  excused: readonly string[],
  { clock = systemClock, longest = 60_000, stuck = 5000, stop }: Patience = {},
): Promise<void> {
  const begun = clock.now();
  const since = new Map<string, { readonly reason: string; readonly at: number }>();
  for (;;) {
    stop?.throwIfAborted();
    const now = clock.now();
    const left = Object.entries(parts()).filter(([part, reason]) =>
      part !== "server" && reason !== "ready" && !excused.includes(part)
    );
    if (left.length === 0) return;
    for (const [part, reason] of left) {
      const before = since.get(part);
      if (before?.reason !== reason || /\bstarting\b/.test(reason)) since.set(part, { reason, at: now });
      else if (now - before.at >= stuck) throw notReady([[part, reason]]);
    }
    if (now - begun >= longest) throw notReady(left);
    await new Promise<void>((resolve) => clock.setTimer(every, resolve));
  }
}

function notReady(left: readonly (readonly [part: string, reason: string])[]): CoreError {
  const text = left.map(([part, reason]) => `${part}: ${reason}`).join("; ");
  return new CoreError("HANDOVER_NOT_READY", `The new server is not ready: ${text}`);
}
