import { describe, expect, test } from "bun:test";
import { LoopLag } from "../../plugins/metrics/event_loop.ts";
import { Registry } from "../../plugins/metrics/registry.ts";
import { parseExposition } from "./parse.ts";
import { waitFor } from "../support/wait.ts";
import { VirtualClock } from "../admission/virtual_clock.ts";

function make() {
  const registry = new Registry();
  const started = 1000;
  let now = started;
  const lag = new LoopLag(registry, {
    interval: 50,
    window: 1000,
    clock: { now: () => now, setTimer: () => () => {} },
  });
  return {
    lag,
    /** A tick `late` milliseconds after its time. */
    tick(late: number) {
      now += 50 + late;
      lag.tick();
    },
    time: () => now - started,
    pass: (ms: number) => void (now += ms),
    read() {
      const metrics = parseExposition(registry.expose());
      const { samples } = metrics.get("fairlead_event_loop_lag_seconds")!;
      const last = (suffix: string) => samples.find((sample) => sample.name.endsWith(suffix))!.value;
      const max = metrics.get("fairlead_event_loop_lag_max_seconds")!.samples[0]!.value;
      return { count: last("_count"), sum: last("_sum"), max };
    },
  };
}

describe("event-loop lag", () => {
  test("notes how late each tick is, and never less than nothing", () => {
    const { tick, read } = make();
    tick(0);
    tick(2);
    tick(-1);
    tick(20);
    expect(read()).toEqual({ count: 4, sum: 0.022, max: 0.02 });
  });

  test("a long block also counts for the ticks it swallowed", () => {
    const { tick, read } = make();
    tick(170);
    const { count, sum, max } = read();
    expect([count, max]).toEqual([4, 0.17]);
    expect(sum).toBeCloseTo(0.17 + 0.12 + 0.07 + 0.02, 9);
  });

  test("a stopped process does not flood the histogram", () => {
    const { tick, read } = make();
    tick(24 * 3600 * 1000);
    expect(read()).toMatchObject({ count: 1200, max: 24 * 3600 });
  });

  test("the maximum is forgotten after one to two windows", () => {
    const { lag, tick, pass, time } = make();
    const ticksUntil = (end: number) => {
      while (time() < end) tick(0);
    };
    tick(30);
    ticksUntil(1000);
    tick(7);
    ticksUntil(1900);
    expect(lag.max()).toBe(30);
    ticksUntil(2000);
    expect(lag.max()).toBe(7);
    ticksUntil(3100);
    expect(lag.max()).toBe(0);
    tick(20);
    pass(10_000);
    expect(lag.max()).toBe(0);
  });

  test("sees a real block of the loop", async () => {
    const lag = new LoopLag(new Registry(), { interval: 5 });
    lag.start();
    lag.start();
    try {
      const until = performance.now() + 60;
      while (performance.now() < until);
      await waitFor(() => lag.max() > 0, { what: "the block to be seen", every: 1 });
      expect(lag.max()).toBeGreaterThanOrEqual(50);
    } finally {
      lag.stop();
    }
  });

  test("does nothing after stop", () => {
    const clock = new VirtualClock();
    const registry = new Registry();
    const lag = new LoopLag(registry, { interval: 50, clock });
    const ticks = () =>
      parseExposition(registry.expose()).get("fairlead_event_loop_lag_seconds")!.samples.at(-1)!.value;
    lag.start();
    clock.advance(120);
    expect(ticks()).toBe(2);
    lag.stop();
    clock.advance(10_000);
    expect(ticks()).toBe(2);
  });
});
