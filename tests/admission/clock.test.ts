import { describe, expect, test } from "bun:test";
import { systemClock } from "../../core/clock.ts";

const after = (ms: number) => new Promise<void>((resolve) => void systemClock.setTimer(ms, resolve));

describe("the system clock", () => {
  test("moves forward, and fires its timers", async () => {
    const keepAlive = setInterval(() => {}, 1000);
    const started = systemClock.now();
    await after(2.5);
    expect(systemClock.now() - started).toBeGreaterThan(1);
    await after(0);
    clearInterval(keepAlive);
  });

  test("does not fire what was called off, nor at once what is further than a timer reaches", async () => {
    const keepAlive = setInterval(() => {}, 1000);
    const fired: string[] = [];
    const off = [
      systemClock.setTimer(1, () => fired.push("called off")),
      systemClock.setTimer(0, () => fired.push("called off at once")),
    ];
    const far = systemClock.setTimer(2 ** 40, () => fired.push("far"));
    for (const cancel of off) cancel();
    await after(5);
    far();
    clearInterval(keepAlive);
    expect(fired).toEqual([]);
  });
});
