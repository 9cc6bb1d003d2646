import type { Hono } from "hono";
import type { FairGate } from "./fair_gate.ts";
import { shownKey } from "./key_source.ts";
import type { SessionLines } from "./session_lines.ts";

/** Waiters that are shown of one gate. */
const mostWaiters = 100;

/**
 * Adds `GET /-/admission?gate=NAME` to the admin listener: each gate, its permits, and who waits in the order they came, in
 * JSON; at most the first hundred of each gate, and a count of the rest.
 */
export function adminRoutes(app: Hono, gates: Iterable<FairGate>, sessions: SessionLines | undefined): void {
  app.get("/-/admission", (c) => {
    const wanted = c.req.query("gate");
    const shown = [...gates].filter(({ name }) => wanted === undefined || name === wanted).map(show);
    c.header("cache-control", "no-store");
    if (wanted !== undefined && shown.length === 0) return c.json({ error: "no such gate is open" }, 404);
    return c.json({
      gates: shown,
      ...(sessions === undefined ? undefined : { sessions: { active: sessions.keys, queued: sessions.queued } }),
    });
  });
}

function show(gate: FairGate): unknown {
  const waiting = gate.waiting(mostWaiters).map(({ criticality, key, weight, waitedMs }) => ({
    class: criticality,
    ...(key === undefined ? undefined : { key: shownKey(key) }),
    weight,
    waited_ms: Math.round(waitedMs),
  }));
  return {
    name: gate.name,
    limit: gate.limit,
    in_use: gate.used,
    queued: gate.queued,
    overloaded: gate.overloaded,
    oldest_wait_ms: Math.round(gate.oldestWait),
    waiting,
    not_shown: gate.queued - waiting.length,
  };
}
