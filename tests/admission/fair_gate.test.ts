import { describe, expect, test } from "bun:test";
import { BargingGate } from "../../plugins/admission/barging_gate.ts";
import { FairGate } from "../../plugins/admission/fair_gate.ts";
import type { GateOptions } from "../../plugins/admission/gate_options.ts";
import { Client } from "./client.ts";
import { VirtualClock } from "./virtual_clock.ts";

function setup(options: GateOptions) {
  const clock = new VirtualClock();
  const log: string[] = [];
  const gate = new FairGate({ clock, random: () => 0.5, ...options });
  const come = (id: string | number, wants: { weight?: number; deadline?: number } = {}) => {
    const client = new Client(log, id, wants);
    return { client, verdict: gate.enter(client) };
  };
  return { clock, log, gate, come };
}

function codeOf(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
  return undefined;
}

describe("a fair gate", () => {
  test("lets in up to its limit, then queues in order of arrival", () => {
    const { gate, log, come } = setup({ limit: 2 });
    expect([come(1), come(2), come(3), come(4), come(5)].map((c) => c.verdict)).toEqual([
      "granted",
      "granted",
      "queued",
      "queued",
      "queued",
    ]);
    expect([gate.used, gate.queued]).toEqual([2, 3]);
    gate.leave();
    expect(log).toEqual(["3 granted"]);
    gate.leave(2);
    expect(log).toEqual(["3 granted", "4 granted", "5 granted"]);
    expect([gate.used, gate.queued]).toEqual([2, 0]);
    expect(gate.counts.immediate).toBe(2);
    expect(gate.counts.queued).toBe(3);
  });

  test("never lets a newcomer pass a waiter, even when a permit is free for it", () => {
    const { gate, log, come } = setup({ limit: 2 });
    come(1);
    expect(come("heavy", { weight: 2 }).verdict).toBe("queued");
    expect(gate.tryEnter()).toBe(false);
    expect(come(3).verdict).toBe("queued");
    gate.leave();
    expect(log).toEqual(["heavy granted"]);
    gate.leave(2);
    expect(log).toEqual(["heavy granted", "3 granted"]);
    expect(gate.counts.overtakes).toBe(0);
  });

  test("serves the rest of the line at once when a heavy head is cancelled", () => {
    const { gate, log, come } = setup({ limit: 3 });
    come(1);
    const heavy = come("heavy", { weight: 3 }).client;
    come(2);
    come(3);
    expect(gate.cancel(heavy)).toBe(true);
    expect(log).toEqual(["2 granted", "3 granted"]);
    expect(gate.cancel(heavy)).toBe(false);
    expect([gate.used, gate.queued, gate.counts.cancelled]).toEqual([3, 0, 1]);
  });

  test("serves the rest of the line when a heavy head times out", () => {
    const { gate, log, come, clock } = setup({ limit: 2 });
    come(1);
    come("heavy", { weight: 2, deadline: 10 });
    come(2);
    clock.advance(10);
    expect(log).toEqual(["heavy deadline", "2 granted"]);
    expect(gate.used).toBe(2);
  });

  test("keeps the order of the others when one in the middle leaves", () => {
    const { gate, log, come } = setup({ limit: 1 });
    const clients = Array.from({ length: 6 }, (_, i) => come(i).client);
    gate.cancel(clients[3]!);
    for (let i = 0; i < 5; i++) gate.leave();
    expect(log).toEqual(["1 granted", "2 granted", "4 granted", "5 granted"]);
    expect(gate.used).toBe(0);
  });

  test("a weight over the limit is an error, not a hang", () => {
    const { gate, come } = setup({ limit: 2 });
    expect(codeOf(() => come(1, { weight: 3 }))).toBe("ADMISSION_WEIGHT");
    expect(codeOf(() => gate.tryEnter(3))).toBe("ADMISSION_WEIGHT");
    for (const weight of [0, -1, 1.5, NaN]) expect(codeOf(() => gate.tryEnter(weight))).toBe("ADMISSION_NUMBER");
    expect(gate.used).toBe(0);
  });

  test("more given back than is out is an error", () => {
    const { gate } = setup({ limit: 2 });
    gate.tryEnter();
    expect(codeOf(() => gate.leave(2))).toBe("ADMISSION_LEAVE");
    expect(gate.used).toBe(1);
  });

  test("a record that has waited cannot wait again", () => {
    const { gate, come } = setup({ limit: 1 });
    come(1);
    const { client } = come(2);
    expect(codeOf(() => gate.enter(client))).toBe("ADMISSION_REUSED");
    gate.leave();
    expect(codeOf(() => gate.enter(client))).toBe("ADMISSION_REUSED");
  });

  test("a stranger's waiter cannot be cancelled", () => {
    const a = setup({ limit: 1 });
    const b = setup({ limit: 1 });
    a.come(1);
    const { client } = a.come(2);
    expect(b.gate.cancel(client)).toBe(false);
    expect(a.gate.queued).toBe(1);
  });
});

describe("bounds of the line", () => {
  test("refuses what comes to a full line", () => {
    const { gate, come } = setup({ limit: 1, maxQueue: 2 });
    expect([1, 2, 3, 4].map((id) => come(id).verdict)).toEqual(["granted", "queued", "queued", "full"]);
    expect(gate.counts.refused.full).toBe(1);
  });

  test("grace 0 refuses whoever cannot be let in at once", () => {
    const { clock, come } = setup({ limit: 1, grace: 0 });
    expect([come(1).verdict, come(2).verdict]).toEqual(["granted", "grace"]);
    expect(clock.timersSet).toBe(0);
  });

  test("grace ends at the moment set on arrival, whatever happens in between", () => {
    const { gate, clock, log, come } = setup({ limit: 1, grace: 100 });
    come(1);
    clock.advance(50);
    const { client } = come(2);
    clock.advance(60);
    gate.resize(1);
    clock.advance(39);
    expect(log).toEqual([]);
    clock.advance(1);
    expect(log).toEqual(["2 grace"]);
    expect(client.waited).toBe(100);
    expect(gate.queued).toBe(0);
  });

  test("a deadline before the end of the grace window counts, a later one does not", () => {
    const { clock, log, come } = setup({ limit: 1, grace: 100 });
    come(0);
    come("late", { deadline: 500 });
    come("soon", { deadline: 40 });
    come("mid", { deadline: 70 });
    come("never");
    clock.advance(39);
    expect(log).toEqual([]);
    clock.advance(1);
    expect(log).toEqual(["soon deadline"]);
    clock.advance(30);
    expect(log).toEqual(["soon deadline", "mid deadline"]);
    clock.advance(30);
    expect(log).toEqual(["soon deadline", "mid deadline", "late grace", "never grace"]);
    expect(clock.live).toBe(0);
  });

  test("those whose time ends at the same moment are refused in order of arrival", () => {
    const { clock, log, come } = setup({ limit: 1, grace: 20 });
    come("holder");
    come("a", { deadline: 1 });
    come("b");
    for (const id of ["c", "d", "e"]) come(id, { deadline: 9 });
    clock.advance(10);
    come("f", { deadline: 20 });
    clock.advance(10);
    expect(log).toEqual(["a deadline", "c deadline", "d deadline", "e deadline", "b grace", "f deadline"]);
  });

  test("a deadline that has passed is refused even when a permit is free", () => {
    const { gate, clock, come } = setup({ limit: 1 });
    clock.advance(10);
    expect(come(1, { deadline: 10 }).verdict).toBe("deadline");
    expect(come(2, { deadline: 11 }).verdict).toBe("granted");
    expect(gate.counts.refused.deadline).toBe(1);
  });

  test("a permit that comes back late goes to the first whose time has not passed", () => {
    const { gate, clock, log, come } = setup({ limit: 1 });
    come(0);
    come(1, { deadline: 10 });
    come(2, { deadline: 30 });
    clock.time = 20;
    gate.leave();
    expect(log).toEqual(["1 deadline", "2 granted"]);
  });

  test("100,000 waiters have one timer", () => {
    const { gate, clock, come } = setup({ limit: 1, grace: 1000 });
    come("holder");
    for (let i = 0; i < 100_000; i++) {
      clock.time += 0.001;
      come(i, i % 3 === 0 ? { deadline: clock.time + 500 } : {});
    }
    expect(clock.peak).toBe(1);
    expect(clock.timersSet).toBeLessThan(4);
    clock.advance(10_000);
    expect(gate.queued).toBe(0);
    expect(clock.peak).toBe(1);
    expect(gate.counts.refused.grace + gate.counts.refused.deadline).toBe(100_000);
  });
});

describe("resize", () => {
  test("more permits are handed out at once, fewer take effect as permits come back", () => {
    const { gate, log, come } = setup({ limit: 1 });
    for (let i = 0; i < 5; i++) come(i);
    gate.resize(3);
    expect(log).toEqual(["1 granted", "2 granted"]);
    gate.resize(1);
    expect(gate.used).toBe(3);
    gate.leave();
    gate.leave();
    expect([gate.used, log.length]).toEqual([1, 2]);
    gate.leave();
    expect(log).toEqual(["1 granted", "2 granted", "3 granted"]);
  });

  test("refuses waiters that can never fit any more, and serves those behind them", () => {
    const { gate, log, come } = setup({ limit: 4 });
    come(0);
    come("heavy", { weight: 4 });
    come("light");
    gate.resize(2);
    expect(log).toEqual(["heavy full", "light granted"]);
    expect(codeOf(() => gate.resize(0))).toBe("ADMISSION_NUMBER");
    expect(gate.limit).toBe(2);
  });
});

describe("drain", () => {
  test("refuses waiters in order and newcomers, and resolves when the last permit is back", async () => {
    const { gate, log, come, clock } = setup({ limit: 2, grace: 100 });
    for (let i = 0; i < 5; i++) come(i);
    let drained = false;
    const done = gate.drain().then(() => drained = true);
    expect(log).toEqual(["2 draining", "3 draining", "4 draining"]);
    expect([gate.tryEnter(), come("new").verdict]).toEqual([false, "draining"]);
    gate.leave();
    await Promise.resolve();
    expect(drained).toBe(false);
    expect(gate.tryEnter()).toBe(false);
    gate.leave();
    await done;
    expect([gate.used, gate.queued, clock.live]).toEqual([0, 0, 0]);
    await gate.drain();
  });
});

describe("callbacks", () => {
  test("may give back at once: a long line is served without growing the stack", () => {
    const { gate, log, come } = setup({ limit: 1 });
    come("holder");
    for (let i = 0; i < 50_000; i++) come(i).client.then = () => gate.leave();
    gate.leave();
    expect(log.length).toBe(50_000);
    expect(log.at(-1)).toBe("49999 granted");
    expect(gate.used).toBe(0);
  });

  test("one that is cancelled after the grant and before its callback gives its permit to the next", () => {
    const { gate, log, come } = setup({ limit: 2 });
    come("holder", { weight: 2 });
    const a = come("a").client;
    const b = come("b").client;
    come("c");
    a.then = () => expect(gate.cancel(b)).toBe(true);
    gate.leave(2);
    expect(log).toEqual(["a granted", "c granted"]);
    expect([gate.used, gate.counts.cancelled, gate.counts.queued]).toEqual([2, 1, 2]);
  });

  test("one that is cancelled after its refusal hears nothing", () => {
    const { gate, log, come } = setup({ limit: 1 });
    come("holder");
    const a = come("a").client;
    const b = come("b").client;
    a.then = () => expect(gate.cancel(b)).toBe(true);
    gate.close();
    expect(log).toEqual(["a draining"]);
  });

  test("permits given back inside a callback belong to the next before leave returns", () => {
    const { gate, log, come } = setup({ limit: 1 });
    come("holder");
    const a = come("a").client;
    come("b");
    const seen: unknown[] = [];
    a.then = () => {
      gate.leave();
      seen.push(gate.used, gate.queued, gate.tryEnter());
    };
    gate.leave();
    expect(seen).toEqual([1, 0, false]);
    expect(log).toEqual(["a granted", "b granted"]);
  });

  test("one that throws does not hold up the line", () => {
    const errors: unknown[] = [];
    const { gate, log, come } = setup({ limit: 2, onError: (error) => errors.push(error) });
    come("holder", { weight: 2 });
    come("a").client.then = () => {
      throw new Error("no");
    };
    come("b");
    gate.leave(2);
    expect(log).toEqual(["a granted", "b granted"]);
    expect(errors.length).toBe(1);
    gate.leave(2);
    expect(gate.used).toBe(0);
  });
});

describe("retryAfter", () => {
  test("is what the line weighs over the measured drain rate, 1 to 30 seconds, spread by a fifth", () => {
    let random = 0.5;
    const { gate, clock, come } = setup({ limit: 1, random: () => random });
    expect(gate.retryAfter()).toBe(1);
    for (let i = 0; i < 120; i++) come(i);
    for (let i = 0; i < 20; i++) {
      clock.advance(100);
      gate.leave();
    }
    expect(gate.queued).toBe(99);
    expect(gate.retryAfter()).toBe(10);
    random = 0;
    expect(gate.retryAfter()).toBe(8);
    random = 0.9999;
    expect(gate.retryAfter()).toBe(12);
    clock.advance(1e6);
    expect(gate.retryAfter()).toBe(30);
  });

  test("a gate that has given nothing back yet counts as about to give one", () => {
    const { gate, clock, come } = setup({ limit: 1 });
    for (let i = 0; i < 4; i++) come(i);
    expect(gate.retryAfter()).toBe(1);
    clock.advance(2000);
    expect(gate.retryAfter()).toBe(8);
  });

  test("idle time does not count as slow draining", () => {
    const { gate, clock, come } = setup({ limit: 1 });
    for (let round = 0; round < 10; round++) {
      for (let i = 0; i < 11; i++) come(i);
      for (let i = 0; i < 11; i++) {
        clock.advance(10);
        gate.leave();
      }
      clock.advance(60_000);
    }
    for (let i = 0; i < 390; i++) come(i);
    expect(gate.retryAfter()).toBe(4);
  });
});

describe("a barging gate", () => {
  test("lets a newcomer take a freed permit, and sends the head that lost to the back", () => {
    const clock = new VirtualClock();
    const log: string[] = [];
    const gate = new BargingGate({ limit: 1, clock });
    gate.tryEnter();
    for (const id of ["a", "b"]) gate.enter(new Client(log, id));
    gate.leave();
    expect(log).toEqual([]);
    expect(gate.enter(new Client(log, "newcomer"))).toBe("granted");
    expect(gate.counts.overtakes).toBe(1);
    clock.advance(0);
    gate.leave();
    clock.advance(0);
    expect(log).toEqual(["b granted"]);
    expect(gate.counts.overtakes).toBe(2);
    gate.leave();
    clock.advance(0);
    expect(log).toEqual(["b granted", "a granted"]);
    expect(gate.used).toBe(1);
  });

  test("wakes the next when the head that lost wants more than is left", () => {
    const clock = new VirtualClock();
    const log: string[] = [];
    const gate = new BargingGate({ limit: 2, clock });
    gate.tryEnter(2);
    gate.enter(new Client(log, "heavy", { weight: 2 }));
    gate.enter(new Client(log, "light"));
    gate.leave(2);
    expect(gate.tryEnter()).toBe(true);
    clock.advance(0);
    expect(log).toEqual(["light granted"]);
    gate.leave(2);
    clock.advance(0);
    expect(log).toEqual(["light granted", "heavy granted"]);
  });

  test("expires in time though the line is out of order", () => {
    const clock = new VirtualClock();
    const log: string[] = [];
    const gate = new BargingGate({ limit: 1, clock, grace: 100 });
    gate.tryEnter();
    gate.enter(new Client(log, "a"));
    clock.advance(50);
    gate.enter(new Client(log, "b"));
    gate.leave();
    gate.tryEnter();
    clock.advance(50);
    expect(log).toEqual(["a grace"]);
    expect(gate.oldestWait).toBe(50);
    clock.advance(50);
    expect(log).toEqual(["a grace", "b grace"]);
  });
});
