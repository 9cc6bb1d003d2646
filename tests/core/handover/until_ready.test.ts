import { describe, expect, test } from "bun:test";
import { untilReady } from "../../../core/handover/until_ready.ts";

/** A clock that runs as fast as timers are set: what happens at which time is all that is looked at. */
function fastClock() {
  let now = 0;
  return {
    now: () => now,
    setTimer(ms: number, fire: () => void) {
      queueMicrotask(() => {
        now += ms;
        fire();
      });
      return () => {};
    },
  };
}

async function wait(
  parts: (now: number) => Record<string, string>,
  excused: readonly string[] = [],
  stop?: AbortSignal,
) {
  const clock = fastClock();
  const error = await untilReady(() => parts(clock.now()), excused, { clock, longest: 60_000, stuck: 5000, stop }).then(
    () => undefined,
    (cause) => cause,
  );
  return { at: clock.now(), error };
}

describe("a successor's readiness", () => {
  test("is that of every part but the server itself", async () => {
    const parts = (now: number) => ({ server: "starting", php: now >= 20_000 ? "ready" : "PHP is starting" });
    expect(await wait(parts)).toEqual({ at: 20_000, error: undefined });
  });

  test("does not wait for what was not ready before either", async () => {
    expect(await wait(() => ({ "db:mysql": "nobody there" }), ["db:mysql"])).toEqual({ at: 0, error: undefined });
  });

  test("is given up when a part says the same for long, and not that it is starting", async () => {
    const { at, error } = await wait((now) => ({
      php: now < 10_000 ? "PHP is starting" : "it does not boot",
      db: "ready",
    }));
    expect([at, error.code, error.message]).toEqual([
      15_000,
      "HANDOVER_NOT_READY",
      "The new server is not ready: php: it does not boot",
    ]);
  });

  test("is given up in the end, whatever is said", async () => {
    const { at, error } = await wait((now) => ({ php: `${now}`, b: "starting" }));
    expect([at, error.message]).toEqual([60_000, "The new server is not ready: php: 60000; b: starting"]);
  });

  test("is no longer waited for when the server was told to stop", async () => {
    const reason = new Error("stopped");
    expect((await wait(() => ({ php: "starting" }), [], AbortSignal.abort(reason))).error).toBe(reason);
  });
});
