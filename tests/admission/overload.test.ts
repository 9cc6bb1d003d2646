import { describe, expect, test } from "bun:test";
import type { Criticality, Refusal, Waiter } from "../../core/contracts/gates.ts";
import { Codel } from "../../plugins/admission/codel.ts";
import { createGate } from "../../plugins/admission/create_gate.ts";
import type { GateOptions } from "../../plugins/admission/gate_options.ts";
import { VirtualClock } from "./virtual_clock.ts";

/** Arrivals at an even pace at a gate whose permits are each held for `holdMs`. */
function offer(options: Partial<GateOptions>, load: {
  readonly everyMs: number;
  readonly holdMs: number;
  readonly forMs: number;
  readonly deadlineMs?: number;
  readonly criticality?: (n: number) => Criticality;
}) {
  const clock = new VirtualClock();
  const gate = createGate({ limit: 2, clock, ...options });
  const waits: number[] = [];
  const refused: [at: number, reason: Refusal, waited: number, criticality: Criticality][] = [];
  const order: number[] = [];
  let n = 0;
  const arrive = () => {
    const id = n++;
    const criticality = load.criticality?.(id) ?? "critical";
    const run = (waited: number) => {
      waits.push(waited);
      order.push(id);
      clock.setTimer(load.holdMs, () => gate.leave(waiter));
    };
    const waiter: Waiter = {
      criticality,
      ...(load.deadlineMs === undefined ? undefined : { deadline: clock.time + load.deadlineMs }),
      onGrant: run,
      onRefuse: (reason, waited) => refused.push([clock.time, reason, waited, criticality]),
    };
    const verdict = gate.enter(waiter);
    if (verdict === "granted") run(0);
    else if (verdict !== "queued") refused.push([clock.time, verdict, 0, criticality]);
    if (clock.time + load.everyMs < load.forMs) clock.setTimer(load.everyMs, arrive);
  };
  arrive();
  clock.advance(load.forMs);
  const reasons = new Set(refused.map(([, reason]) => reason));
  return { clock, gate, waits, refused, reasons, order, come: () => n };
}

describe("CoDel", () => {
  test("tells a standing line from a burst: only when the least wait of an interval was above the target", () => {
    const codel = new Codel(1000);
    for (let now = 0; now < 100; now += 10) expect(codel.judge(now === 50 ? 1 : 40, now, Infinity)).toBe(false);
    for (let now = 100; now < 200; now += 10) expect(codel.judge(40, now, Infinity)).toBe(false);
    expect(codel.judge(40, 200, Infinity)).toBe(false);
    expect(codel.judge(40, 210, Infinity)).toBe(true);
    expect(codel.judge(10, 220, Infinity)).toBe(false);
    expect(codel.judge(11, 230, Infinity)).toBe(true);
  });

  test("lets in the first of every interval, and forgets after an interval without anyone", () => {
    const codel = new Codel(1000);
    for (let now = 0; now <= 110; now += 10) codel.judge(40, now, Infinity);
    expect(codel.judge(40, 120, Infinity)).toBe(true);
    expect(codel.judge(40, 200, Infinity)).toBe(false);
    expect(codel.judge(40, 210, Infinity)).toBe(true);
    expect(codel.recent(390)).toBe(true);
    expect(codel.recent(400)).toBe(false);
    expect(codel.judge(40, 500, Infinity)).toBe(false);
    expect(codel.judge(40, 510, Infinity)).toBe(false);
  });

  test("has a target of two returns of a permit, at least 5 ms, at most a quarter of the grace window", () => {
    const codel = new Codel(1000);
    codel.judge(0, 0, 1 / 25);
    expect([codel.target, codel.interval]).toEqual([50, 1000]);
    codel.judge(0, 5000, 1 / 500);
    expect([codel.target, codel.interval]).toEqual([250, 5000]);
    codel.judge(0, 50_000, 10);
    expect([codel.target, codel.interval]).toEqual([5, 100]);
  });

  const twice = { everyMs: 5, holdMs: 20, forMs: 20_000 };

  test("is off unless asked for", () => {
    expect([...offer({ grace: 2000 }, twice).reasons]).toEqual(["grace"]);
  });

  test("keeps a line short at twice the load, and every permit busy", () => {
    const { gate, waits, reasons, refused } = offer({ grace: 2000, codel: true }, twice);
    expect([...reasons]).toEqual(["codel"]);
    expect(gate.overloaded).toBe(true);
    expect(gate.counts.refused.codel).toBe(refused.length);
    // 2 permits for 20 ms each over 20 s.
    expect(waits.length).toBeGreaterThan(1950);
    const late = waits.slice(200).toSorted((a, b) => a - b);
    expect(late.at(-1)!).toBeLessThan(1000);
    expect(late[late.length >> 1]!).toBeLessThan(120);
  });

  test("refuses nobody below capacity, nor the last in line", () => {
    const below = offer({ grace: 2000, codel: true }, { everyMs: 11, holdMs: 20, forMs: 20_000 });
    expect([below.refused.length, below.gate.overloaded]).toEqual([0, false]);
    const clock = new VirtualClock();
    const gate = createGate({ limit: 1, clock, grace: 100_000, codel: true });
    gate.tryEnter();
    let granted = 0;
    for (let i = 0; i < 50; i++) {
      gate.enter({ onGrant: () => granted++, onRefuse() {} });
      clock.advance(500);
      gate.leave();
    }
    expect(granted).toBe(50);
  });
});

describe("CoDel at a gate with little in line", () => {
  const short = (limit: number) => {
    const clock = new VirtualClock();
    const gate = createGate({ limit, clock, grace: 80, codel: true });
    const come = () => gate.enter({ onGrant() {}, onRefuse() {} });
    return { clock, gate, come };
  };

  test("never refuses the last in line, however long it waited", () => {
    const { clock, gate, come } = short(1);
    gate.tryEnter();
    for (let i = 0; i < 50; i++) {
      come();
      clock.advance(70);
      gate.leave();
    }
    expect([gate.counts.queued, gate.counts.refused.codel]).toEqual([50, 0]);
  });

  test("a line that empties within each interval does not stand", () => {
    const { clock, gate, come } = short(1);
    for (let i = 0; i < 50; i++) {
      expect([come(), come(), come(), come()]).toEqual(["granted", "queued", "queued", "queued"]);
      for (let i = 0; i < 4; i++) {
        clock.advance(25);
        gate.leave();
      }
    }
    expect([gate.counts.queued, gate.counts.refused.codel]).toEqual([150, 0]);
  });
});

describe("newest first", () => {
  test("a lone waiter is served, however long it waited", () => {
    const clock = new VirtualClock();
    const gate = createGate({ limit: 1, clock, grace: 3000, order: "adaptive_lifo", newestFirst: ["critical"] });
    gate.tryEnter();
    gate.enter({ onGrant() {}, onRefuse() {} });
    clock.advance(2000);
    gate.leave();
    expect([gate.counts.queued, gate.counts.refused.codel]).toEqual([1, 0]);
  });

  test("a key's cap holds when the order turns round", () => {
    const clock = new VirtualClock();
    const gate = createGate({
      limit: 4,
      clock,
      grace: 3000,
      order: "adaptive_lifo",
      newestFirst: ["critical"],
      keyLimit: 3,
      keyQueue: 9,
    });
    const log: string[] = [];
    const come = (id: string, weight: number) => {
      const waiter = { key: "a", weight, onGrant: () => log.push(id), onRefuse: () => log.push(`${id} refused`) };
      gate.enter(waiter);
      return waiter;
    };
    gate.tryEnter(2);
    const first = come("first", 2);
    come("light", 1);
    come("heavy", 2);
    clock.advance(90);
    come("last", 2);
    clock.advance(11);
    gate.leave(2);
    expect([gate.used, log.length]).toEqual([2, 0]);
    gate.leave(first);
    expect(log[0]).toBe("light refused");
    expect(log.includes("last")).toBe(true);
    expect(gate.used).toBeLessThan(4);
  });

  test("lifo is for the classes that allow it only, and counts whom it passes", () => {
    const clock = new VirtualClock();
    const gate = createGate({ limit: 1, clock, grace: 1000, order: "lifo", shares: {}, newestFirst: ["sheddable"] });
    gate.tryEnter();
    const log: string[] = [];
    for (const criticality of ["critical", "sheddable"] as const) {
      for (let i = 0; i < 3; i++) {
        gate.enter({ criticality, onGrant: () => log.push(`${criticality}${i}`), onRefuse() {} });
      }
    }
    for (let i = 0; i < 6; i++) gate.leave();
    expect(log.filter((line) => line.startsWith("critical"))).toEqual(["critical0", "critical1", "critical2"]);
    expect(log.filter((line) => line.startsWith("sheddable"))).toEqual(["sheddable2", "sheddable1", "sheddable0"]);
    expect(gate.counts.overtakes).toBe(2);
  });

  test("a light newcomer that fits where the head does not is let in by enter itself", () => {
    const clock = new VirtualClock();
    const gate = createGate({ limit: 2, clock, grace: 1000, order: "lifo", newestFirst: ["critical"] });
    gate.tryEnter();
    const log: string[] = [];
    gate.enter({ weight: 2, onGrant: () => log.push("heavy"), onRefuse: (reason) => log.push(`heavy ${reason}`) });
    expect(gate.enter({ onGrant: () => log.push("light"), onRefuse() {} })).toBe("granted");
    expect([gate.used, gate.queued, log.length]).toEqual([2, 1, 0]);
    clock.advance(1000);
    expect(log).toEqual(["heavy grace"]);
  });

  const allow = { grace: 3000, newestFirst: ["critical"] } as const;
  const twice = { everyMs: 5, holdMs: 20, forMs: 10_000 };

  test("lifo leaves the old to the grace window, which answers every one of them", () => {
    const { gate, refused, clock, waits, come } = offer({ ...allow, order: "lifo" }, twice);
    expect(refused.every(([, reason, waited]) => reason === "grace" && waited === 3000)).toBe(true);
    clock.advance(4000);
    expect([gate.queued, waits.length + refused.length]).toEqual([0, come()]);
  });

  test("adaptive lifo is fifo until the line has stood for an interval", () => {
    const calm = offer({ ...allow, order: "adaptive_lifo" }, { everyMs: 11, holdMs: 20, forMs: 10_000 });
    expect([calm.gate.counts.overtakes, calm.refused.length]).toEqual([0, 0]);
    expect(calm.order).toEqual(calm.order.toSorted((a, b) => a - b));
  });

  test("adaptive lifo in overload: fresh ones are served, old ones are answered long before the grace window", () => {
    const { gate, waits, refused, clock, come } = offer({ ...allow, order: "adaptive_lifo" }, twice);
    const late = waits.slice(500).toSorted((a, b) => a - b);
    expect(late[Math.floor(late.length * 0.9)]!).toBeLessThan(50);
    expect(refused.every(([, reason, waited]) => reason === "codel" && waited < 1000)).toBe(true);
    expect(gate.counts.overtakes).toBeGreaterThan(0);
    clock.advance(4000);
    expect([gate.queued, waits.length + refused.length]).toEqual([0, come()]);
  });
});

describe("prediction", () => {
  const load = { everyMs: 5, holdMs: 20, forMs: 10_000, deadlineMs: 200 };

  test("refuses on arrival who would not be let in by its deadline", () => {
    const told = offer({ predict: true }, load);
    expect([...told.reasons].filter((reason) => reason !== "predicted" && reason !== "deadline")).toEqual([]);
    expect(told.gate.counts.refused.predicted).toBeGreaterThan(told.refused.length * 0.5);
    expect(told.waits.length).toBeGreaterThan(970);
    const untold = offer({}, load);
    expect([...untold.reasons]).toEqual(["deadline"]);
    expect(told.gate.counts.refused.deadline).toBeLessThan(untold.refused.length / 2);
  });

  test("does not fire without a measurement, nor on a gate that has given too little back", () => {
    for (const returns of [0, 2]) {
      const clock = new VirtualClock();
      const gate = createGate({ limit: 1, clock, predict: true });
      gate.tryEnter();
      for (let i = 0; i < 100; i++) gate.enter({ onGrant() {}, onRefuse() {} });
      for (let i = 0; i < returns; i++) {
        clock.advance(100);
        gate.leave();
      }
      clock.advance(10_000);
      expect(gate.enter({ deadline: clock.time + 1, onGrant() {}, onRefuse() {} })).toBe("queued");
    }
  });

  test("looks at the share of the newcomer's class, and of its key", () => {
    const clock = new VirtualClock();
    const gate = createGate({ limit: 1, clock, predict: true, shares: {}, keys: true });
    const held: Waiter[] = [];
    const come = (criticality: Criticality, key: string, ms = Infinity) => {
      const waiter: Waiter = {
        criticality,
        key,
        deadline: clock.time + ms,
        onGrant: () => held.push(waiter),
        onRefuse() {},
      };
      const verdict = gate.enter(waiter);
      if (verdict === "granted") held.push(waiter);
      return verdict;
    };
    for (let i = 0; i < 271; i++) come("sheddable", "hog");
    for (let i = 0; i < 71; i++) {
      clock.advance(10);
      gate.leave(held.shift()!);
    }
    // A permit each 10 ms, 200 of a hog in line.
    expect(come("sheddable", "hog", 1000)).toBe("predicted");
    expect(come("sheddable", "new", 1000)).toBe("queued");
    expect(come("critical", "new", 100)).toBe("queued");
    expect(come("critical", "new", 5)).toBe("predicted");
    for (let i = 0; i < 20; i++) come("sheddable", `key ${i}`);
    // Its turn comes after one of each of 22 keys, and a critical one in five permits is before it.
    expect(come("sheddable", "late", 200)).toBe("predicted");
    expect(come("sheddable", "late", 1200)).toBe("queued");
  });

  test("gives a newcomer the benefit of a quarter: its place in line costs little", () => {
    const clock = new VirtualClock();
    const gate = createGate({ limit: 1, clock, predict: true });
    gate.tryEnter();
    for (let i = 0; i < 129; i++) gate.enter({ onGrant() {}, onRefuse() {} });
    for (let i = 0; i < 30; i++) {
      clock.advance(100);
      gate.leave();
    }
    // A hundred permits at one in 100 ms.
    const come = (ms: number) => gate.enter({ deadline: clock.time + ms, onGrant() {}, onRefuse() {} });
    expect([come(7_900), come(8_200)]).toEqual(["predicted", "queued"]);
  });

  test("says nothing where the newest is first", () => {
    const clock = new VirtualClock();
    const gate = createGate({ limit: 1, clock, predict: true, grace: 1e6, order: "lifo", newestFirst: ["critical"] });
    gate.tryEnter();
    for (let i = 0; i < 100; i++) gate.enter({ onGrant() {}, onRefuse() {} });
    for (let i = 0; i < 20; i++) {
      clock.advance(100);
      gate.leave();
    }
    expect(gate.enter({ deadline: clock.time + 200, onGrant() {}, onRefuse() {} })).toBe("queued");
  });

  test("takes a new limit into account before it is measured", () => {
    const clock = new VirtualClock();
    const gate = createGate({ limit: 1, clock, random: () => 0.5 });
    gate.tryEnter();
    for (let i = 0; i < 119; i++) gate.enter({ onGrant() {}, onRefuse() {} });
    for (let i = 0; i < 20; i++) {
      clock.advance(100);
      gate.leave();
    }
    expect(gate.retryAfter()).toBe(10);
    gate.resize(2);
    expect(gate.retryAfter()).toBe(5);
  });
});

describe("the class threshold", () => {
  test("turns sheddable away, then sheddable_plus, while even the shortest wait is long, and nobody else", () => {
    const criticality = (n: number): Criticality =>
      (["critical", "sheddable_plus", "sheddable", "critical"] as const)[n % 4]!;
    const { refused, gate, clock, reasons } = offer(
      { grace: 4000, shares: {}, threshold: true },
      { everyMs: 3, holdMs: 20, forMs: 10_000, criticality },
    );
    const cut = refused.filter(([, reason]) => reason === "class");
    expect(reasons.has("class")).toBe(true);
    expect(cut[0]![3]).toBe("sheddable");
    expect(cut.find(([, , , name]) => name === "sheddable_plus")![0]).toBeGreaterThan(cut[0]![0]);
    expect(cut.some(([, , , name]) => name === "critical")).toBe(false);
    expect([gate.overloaded, gate.counts.refused.class]).toEqual([true, cut.length]);
    clock.advance(60_000);
    expect(gate.overloaded).toBe(false);
    expect(gate.enter({ criticality: "sheddable", onGrant() {}, onRefuse() {} })).toBe("granted");
  });
});
