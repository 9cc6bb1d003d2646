import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { Criticality, Refusal, Waiter } from "../../core/contracts/gates.ts";
import { classes } from "../../plugins/admission/classes.ts";
import { ClassedGate } from "../../plugins/admission/classed_gate.ts";
import { createGate } from "../../plugins/admission/create_gate.ts";
import { FairGate } from "../../plugins/admission/fair_gate.ts";
import type { GateOptions } from "../../plugins/admission/gate_options.ts";
import { VirtualClock } from "./virtual_clock.ts";

interface Wants {
  readonly weight?: number;
  readonly deadline?: number;
  readonly criticality?: Criticality;
  readonly key?: string;
  readonly then?: () => void;
}

function setup(options: Partial<GateOptions>) {
  const clock = new VirtualClock();
  const log: string[] = [];
  const errors: unknown[] = [];
  const gate = createGate({ limit: 1, clock, random: () => 0.5, onError: (error) => errors.push(error), ...options });
  const held: Waiter[] = [];
  const come = (id: string, { then = () => {}, ...wants }: Wants = {}) => {
    const end = (what: string) => {
      log.push(`${id} ${what}`);
      then();
    };
    const waiter: Waiter = {
      ...wants,
      onGrant() {
        held.push(waiter);
        end("granted");
      },
      onRefuse: (reason: Refusal) => end(reason),
    };
    const verdict = gate.enter(waiter);
    if (verdict === "granted") held.push(waiter);
    return { waiter, verdict };
  };
  /** Who held longest leaves. */
  const leave = () => gate.leave(held.shift()!);
  /** Who was let in since the last call. */
  const granted = () => log.splice(0).filter((line) => line.endsWith("granted")).map((line) => line.split(" ")[0]!);
  return { clock, log, errors, gate, held, come, leave, granted };
}

const codeOf = (act: () => unknown): unknown => {
  try {
    act();
  } catch (error) {
    return (error as { code?: unknown }).code;
  }
  return undefined;
};

function tallied(ids: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const id of ids) counts[id] = (counts[id] ?? 0) + 1;
  return counts;
}

describe("createGate", () => {
  test("makes the cheapest gate that does what is asked", () => {
    const of = (options: Partial<GateOptions>) => createGate({ limit: 1, ...options }).constructor;
    for (const options of [{}, { predict: true }, { keyLimit: 0, keyQueue: 0, order: "fifo" as const, codel: false }]) {
      expect(of(options)).toBe(FairGate);
    }
    for (const options of [{ shares: {} }, { keys: true }, { keyLimit: 1 }, { keyQueue: 1 }, { codel: true }]) {
      expect(of(options)).toBe(ClassedGate);
    }
  });

  test("refuses what is no share and no cap, and newest first without a grace window", () => {
    for (const shares of [{ critical: 0 }, { sheddable: -1 }, { sheddable: Infinity }, { critical_plus: NaN }]) {
      expect(codeOf(() => createGate({ limit: 1, shares }))).toBe("ADMISSION_NUMBER");
    }
    for (const options of [{ keyLimit: 1.5 }, { keyQueue: -1 }, { keys: true, maxKeys: 0 }]) {
      expect(codeOf(() => createGate({ limit: 1, ...options }))).toBe("ADMISSION_NUMBER");
    }
    for (const order of ["lifo", "adaptive_lifo"] as const) {
      expect(codeOf(() => createGate({ limit: 1, order }))).toBe("ADMISSION_ORDER");
      expect(codeOf(() => createGate({ limit: 1, order, grace: 1000 }))).toBe(undefined);
    }
  });
});

describe("classes", () => {
  test("get their shares while all of them wait, evenly and without starvation", () => {
    const { gate, come, leave, granted } = setup({ shares: {} });
    come("holder");
    for (let i = 0; i < 150; i++) for (const criticality of classes) come(criticality, { criticality });
    expect(classes.map((criticality) => gate.queuedOf(criticality))).toEqual([150, 150, 150, 150]);
    for (let round = 0; round < 10; round++) {
      for (let i = 0; i < 15; i++) leave();
      const round = tallied(granted());
      for (const [criticality, share] of [["critical_plus", 8], ["critical", 4], ["sheddable_plus", 2]] as const) {
        expect(Math.abs((round[criticality] ?? 0) - share)).toBeLessThan(2);
      }
      expect(round["sheddable"]).toBe(1);
    }
    expect(gate.counts.overtakes).toBe(0);
  });

  test("what one does not use goes to the others, and is not saved up", () => {
    const { come, leave, granted } = setup({ shares: {} });
    come("holder");
    for (let i = 0; i < 100; i++) come("sheddable", { criticality: "sheddable" });
    for (let i = 0; i < 50; i++) leave();
    expect(tallied(granted())).toEqual({ sheddable: 50 });
    for (let i = 0; i < 50; i++) come("critical", { criticality: "critical" });
    for (let i = 0; i < 25; i++) leave();
    const { critical, sheddable } = tallied(granted());
    expect([critical! + sheddable!, Math.abs(critical! - 20) < 2]).toEqual([25, true]);
  });

  test("a critical newcomer is before a long line of sheddable ones", () => {
    const { come, leave, granted } = setup({ shares: {} });
    come("holder");
    for (let i = 0; i < 100; i++) come("sheddable", { criticality: "sheddable" });
    for (let i = 0; i < 10; i++) leave();
    granted();
    come("critical");
    leave();
    expect(granted()).toEqual(["critical"]);
  });

  test("a heavy sheddable one gets its turn though light critical ones keep coming", () => {
    const { come, leave, log } = setup({ limit: 3, shares: {} });
    for (let i = 0; i < 3; i++) come("holder");
    come("heavy", { weight: 3, criticality: "sheddable" });
    let grants = 0;
    for (; grants < 100 && !log.includes("heavy granted"); grants++) {
      come("light");
      leave();
    }
    // Shares of 4 and 1: twelve light ones before three heavy permits, and the permits of three more until all are back.
    expect(grants).toBeLessThan(17);
  });

  test("named shares replace the usual ones, and a class without a name is critical", () => {
    const { come, leave, granted } = setup({ shares: { critical: 1 } });
    come("holder");
    for (let i = 0; i < 90; i++) {
      come("unnamed");
      come("sheddable", { criticality: "sheddable" });
    }
    for (let i = 0; i < 20; i++) leave();
    expect(tallied(granted())).toEqual({ unnamed: 10, sheddable: 10 });
  });
});

describe("a full line", () => {
  test("gives the place of the lowest class's newest to a higher class", () => {
    const { gate, log, come, leave } = setup({ shares: {}, maxQueue: 3 });
    come("holder");
    come("s1", { criticality: "sheddable" });
    come("s2", { criticality: "sheddable" });
    come("p1", { criticality: "sheddable_plus" });
    expect(come("s3", { criticality: "sheddable" }).verdict).toBe("full");
    expect(come("c1").verdict).toBe("queued");
    expect(come("p2", { criticality: "sheddable_plus" }).verdict).toBe("queued");
    expect(come("p3", { criticality: "sheddable_plus" }).verdict).toBe("full");
    expect(log).toEqual(["s2 evicted", "s1 evicted"]);
    expect([gate.queued, gate.counts.refused.evicted, gate.counts.refused.full]).toEqual([3, 2, 2]);
    for (let i = 0; i < 4; i++) leave();
    expect(log.slice(2)).toEqual(["c1 granted", "p1 granted", "p2 granted"]);
  });

  test("an evicted head that was too heavy lets the newcomer in at once", () => {
    const { gate, log, come } = setup({ limit: 2, shares: {}, maxQueue: 1 });
    come("holder");
    come("heavy", { weight: 2, criticality: "sheddable" });
    expect(come("c").verdict).toBe("granted");
    expect(log).toEqual(["heavy evicted"]);
    expect([gate.used, gate.counts.immediate]).toEqual([2, 2]);
  });

  test("one that is evicted may give back and come again: the newcomer hears by what enter returns", () => {
    const { gate, log, come, leave } = setup({ shares: {}, maxQueue: 1 });
    come("holder");
    come("s", {
      criticality: "sheddable",
      then: () => {
        leave();
        come("again", { criticality: "sheddable" });
      },
    });
    expect(come("c").verdict).toBe("granted");
    expect(log).toEqual(["s evicted"]);
    expect([gate.used, gate.queued]).toEqual([1, 1]);
    leave();
    expect(log).toEqual(["s evicted", "again granted"]);
  });

  test("a drain from inside an eviction refuses the newcomer, once", () => {
    const { gate, log, come } = setup({ shares: {}, maxQueue: 1 });
    come("holder");
    come("s", { criticality: "sheddable", then: () => gate.close() });
    expect(come("c").verdict).toBe("draining");
    expect(log).toEqual(["s evicted"]);
    expect([gate.queued, gate.counts.refused.draining]).toEqual([0, 1]);
  });

  test("an eviction from inside a callback leaves the newcomer in line", () => {
    const { log, come, leave } = setup({ shares: {}, maxQueue: 2 });
    const verdicts: unknown[] = [];
    come("holder");
    come("a", { then: () => verdicts.push(come("b").verdict, come("c").verdict) });
    come("s", { criticality: "sheddable" });
    leave();
    expect(verdicts).toEqual(["queued", "queued"]);
    expect(log).toEqual(["a granted", "s evicted"]);
    leave();
    leave();
    expect(log.slice(2)).toEqual(["b granted", "c granted"]);
  });
});

describe("keys", () => {
  test("take turns: a newcomer's key is before a thousand of a hog's", () => {
    const { gate, come, leave, granted } = setup({ keys: true });
    come("holder");
    for (let i = 0; i < 1000; i++) come("hog", { key: "hog" });
    leave();
    granted();
    for (let i = 0; i < 3; i++) come("new", { key: "new" });
    for (let i = 0; i < 6; i++) leave();
    expect(granted()).toEqual(["hog", "new", "hog", "new", "hog", "new"]);
    expect(gate.counts.overtakes).toBe(0);
  });

  test("that fill the line give places to keys with few waiters, newest first", () => {
    const { gate, come, log } = setup({ keys: true, maxQueue: 10 });
    come("holder");
    for (let i = 0; i < 12; i++) come(`hog${i}`, { key: "hog" });
    expect(["a", "b", "a", "b", "c"].map((key) => come(key, { key }).verdict)).toEqual(Array(5).fill("queued"));
    expect(log).toEqual([9, 8, 7, 6, 5].map((n) => `hog${n} key`));
    expect(come("hog", { key: "hog" }).verdict).toBe("full");
    // By the first d, c has as many as the hog and came later; by the third nobody has two more than d.
    for (const key of ["c", "c", "d", "d", "d"]) come(key, { key });
    expect([gate.queued, log.slice(5)]).toEqual([10, ["hog4 key", "hog3 key", "c key", "hog2 key"]]);
    expect(gate.counts.refused.full).toBe(4);
  });

  test("are in order of arrival inside", () => {
    const { log, come, leave } = setup({ keys: true });
    come("holder");
    for (let i = 0; i < 30; i++) come(`${"abc"[i % 3]}${String(i).padStart(2, "0")}`, { key: "abc"[i % 3]! });
    for (let i = 0; i < 30; i++) leave();
    for (const key of "abc") {
      const own = log.filter((line) => line.startsWith(key));
      expect(own).toEqual(own.toSorted());
      expect(own.length).toBe(10);
    }
  });

  test("with a weight get so much more", () => {
    const { come, leave, granted } = setup({ keys: true, keyWeight: (key) => key === "a" ? 3 : key === "b" ? 0.5 : 1 });
    come("holder");
    for (let i = 0; i < 100; i++) for (const key of "abc") come(key, { key });
    for (let i = 0; i < 90; i++) leave();
    expect(tallied(granted())).toEqual({ a: 60, b: 10, c: 20 });
  });

  test("that wait without a break get the same within a turn and the heaviest permit (k8s 104922: no credit, no hoarding)", () => {
    const heavy = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 60, maxLength: 60 });
    fc.assert(fc.property(fc.array(heavy, { minLength: 2, maxLength: 4 }), (weights) => {
      const served = weights.map(() => 0);
      const { come, leave } = setup({ limit: 4, keys: true });
      come("holder", { weight: 4 });
      weights.forEach((each, key) =>
        each.forEach((weight) => come("x", { key: `k${key}`, weight, then: () => served[key]! += weight }))
      );
      while (served.every((sum, key) => sum < weights[key]!.reduce((a, b) => a + b) - 8)) {
        leave();
        // A quantum of 1 and a heaviest of 4, on either side, and what is out at once.
        expect(Math.max(...served) - Math.min(...served)).toBeLessThan(2 * (1 + 4) + 4);
      }
    }));
  });

  test("that go idle keep what they owe while others wait, and are forgiven when nobody does", () => {
    const { come, leave, granted } = setup({ limit: 4, keys: true });
    const others = () => {
      for (let i = 0; i < 8; i++) come("b", { key: "b" });
    };
    come("holder", { weight: 4 });
    come("a", { key: "a", weight: 4 });
    others();
    leave();
    expect(granted()).toEqual(["a"]);
    come("a", { key: "a" });
    leave();
    leave();
    // Four permits were four turns of others.
    expect(granted()).toEqual(["b", "b", "b", "b", "a"]);
    for (let i = 0; i < 8; i++) leave();
    granted();
    come("holder", { weight: 4 });
    others();
    come("a", { key: "a" });
    leave();
    expect(granted()).toEqual(["b", "a", "b", "b"]);
  });

  test("that go idle lose what was left of their turn", () => {
    const { come, leave, granted, gate } = setup({ keys: true, keyWeight: (key) => key === "a" ? 3 : 1 });
    come("holder");
    const { waiter } = come("a", { key: "a" });
    for (let i = 0; i < 9; i++) come("b", { key: "b" });
    gate.cancel(waiter);
    for (let i = 0; i < 9; i++) come("a", { key: "a" });
    for (let i = 0; i < 5; i++) leave();
    expect(granted()).toEqual(["b", "a", "a", "a", "b"]);
  });

  test("whose turn ends because they left do not take the next key's turn with them", () => {
    const { come, leave, granted, gate } = setup({ keys: true });
    come("holder");
    const { waiter } = come("a", { key: "a" });
    for (const key of ["b", "c", "d"]) come(key, { key });
    gate.cancel(waiter);
    for (let i = 0; i < 3; i++) leave();
    expect(granted()).toEqual(["b", "c", "d"]);
  });

  test("are forgotten when they neither wait nor hold", () => {
    const { gate, come, leave } = setup({ keys: true });
    come("holder");
    for (let i = 0; i < 100; i++) come(`${i}`, { key: `${i}` });
    expect(gate.keys).toBe(100);
    for (let i = 0; i < 101; i++) leave();
    expect([gate.keys, gate.used, gate.queued]).toEqual([0, 0, 0]);
  });

  test("beyond the bound share records by their hash: the order inside a key holds", () => {
    const { gate, come, leave, log } = setup({ keys: true, maxKeys: 10 });
    come("holder");
    for (let i = 0; i < 600; i++) come(`k${i % 200}:${Math.floor(i / 200)}`, { key: `k${i % 200}` });
    expect(gate.keys).toBe(10);
    for (let i = 0; i < 600; i++) leave();
    expect(log.length).toBe(600);
    for (let i = 0; i < 200; i++) {
      expect(log.filter((line) => line.startsWith(`k${i}:`))).toEqual([0, 1, 2].map((n) => `k${i}:${n} granted`));
    }
  });

  test("that share a record stay behind those of theirs who wait there when there is room again", () => {
    const { gate, come, leave, granted } = setup({ keys: true, maxKeys: 1 });
    come("holder");
    for (const id of ["a1", "b1", "b2", "b3"]) come(id, { key: id[0]! });
    leave();
    leave();
    expect([granted(), gate.keys]).toEqual([["a1", "b1"], 0]);
    come("b4", { key: "b" });
    for (let i = 0; i < 3; i++) leave();
    expect(granted()).toEqual(["b2", "b3", "b4"]);
  });

  test("`time`: a key with slow work gets the same time, hence fewer turns", () => {
    const work: Record<string, number> = { slow: 50, quick: 5 };
    const turns = (fair: "count" | "time") => {
      const { clock, come, gate } = setup({ limit: 1, keys: true, fair });
      const done: Record<string, number> = { slow: 0, quick: 0 };
      const again = (key: string): void => {
        const run = () =>
          clock.setTimer(work[key]!, () => {
            done[key]!++;
            again(key);
            gate.leave(visit.waiter);
          });
        const visit = come(key, { key, then: run });
        if (visit.verdict === "granted") run();
      };
      for (let i = 0; i < 10; i++) for (const key of ["slow", "quick"]) again(key);
      clock.advance(20_000);
      return done["quick"]! / done["slow"]!;
    };
    expect(turns("count")).toBeLessThan(1.1);
    expect(turns("time")).toBeGreaterThan(9);
    expect(turns("time")).toBeLessThan(11);
  });
});

describe("one that is cancelled between the grant and its callback", () => {
  const cancelled = (options: Partial<GateOptions>, mine: Wants, theirs: Wants) => {
    const { gate, come, leave, granted } = setup({ limit: 2, ...options });
    come("holder", { weight: 2 });
    come("a1", { ...mine, then: () => gate.cancel(gone.waiter) });
    const gone = come("b1", theirs);
    for (const id of ["a2", "a3"]) come(id, mine);
    for (const id of ["b2", "b3"]) come(id, theirs);
    for (let i = 0; i < 4; i++) leave();
    return granted();
  };

  test("costs its key nothing", () => {
    const order = cancelled({ keys: true }, { key: "a" }, { key: "b" });
    expect(order).toEqual(["a1", "a2", "b2", "b3", "a3"]);
  });

  test("costs its class nothing", () => {
    const shares = { critical: 1, sheddable: 1 };
    const order = cancelled({ shares }, { criticality: "critical" }, { criticality: "sheddable" });
    expect(order).toEqual(["a1", "b2", "a2", "b3", "a3"]);
  });
});

describe("caps on keys", () => {
  test("time in which all wait for permits of their own key is not slow draining", () => {
    const { gate, clock, come, leave } = setup({ limit: 2, keyLimit: 2, keyQueue: 9 });
    come("a1", { key: "a" });
    gate.tryEnter();
    come("a2", { key: "a", weight: 2 });
    expect(gate.next).toBe(undefined);
    clock.advance(20_000);
    leave();
    expect(gate.next === undefined).toBe(false);
    clock.advance(200);
    expect(gate.retryAfter()).toBe(1);
  });

  test("key limit alone refuses at once what is above it, in use and in line", () => {
    const { gate, come, leave, log } = setup({ limit: 3, keyLimit: 2 });
    expect([1, 2, 3].map((n) => come(`a${n}`, { key: "a" }).verdict)).toEqual(["granted", "granted", "key"]);
    expect(come("none").verdict).toBe("granted");
    expect([1, 2, 3].map((n) => come(`b${n}`, { key: "b" }).verdict)).toEqual(["queued", "queued", "key"]);
    expect(come("heavy", { key: "c", weight: 3 }).verdict).toBe("key");
    expect(gate.counts.refused.key).toBe(3);
    leave();
    expect(log).toEqual(["b1 granted"]);
    expect(come("a4", { key: "a" }).verdict).toBe("queued");
    while (gate.used > 0) leave();
    expect([1, 2, 3].map((n) => come(`b${n}`, { key: "b" }).verdict)).toEqual(["granted", "granted", "key"]);
  });

  test("key queue has them wait for their own, and others pass them", () => {
    const { gate, come, log } = setup({ limit: 3, keyLimit: 1, keyQueue: 2 });
    const first = come("a1", { key: "a" });
    expect([2, 3, 4].map((n) => come(`a${n}`, { key: "a" }).verdict)).toEqual(["queued", "queued", "key"]);
    expect([gate.next, gate.used, gate.queued]).toEqual([undefined, 1, 2]);
    expect(come("b1", { key: "b" }).verdict).toBe("granted");
    expect(gate.tryEnter()).toBe(true);
    gate.leave(first.waiter);
    gate.leave(first.waiter);
    expect(log).toEqual(["a2 granted"]);
    expect([gate.used, gate.queued, gate.counts.overtakes]).toEqual([3, 1, 0]);
  });

  test("key queue alone bounds who waits", () => {
    const { come } = setup({ keyQueue: 1 });
    come("holder", { key: "a" });
    expect([1, 2].map((n) => come(`a${n}`, { key: "a" }).verdict)).toEqual(["queued", "key"]);
    expect([1, 2].map((n) => come(`none${n}`).verdict)).toEqual(["queued", "queued"]);
  });

  test("one key's cap holds over all classes", () => {
    const { come, leave, log } = setup({ limit: 2, shares: {}, keyLimit: 1, keyQueue: 9 });
    come("holder", { weight: 2 });
    come("a1", { key: "a", criticality: "critical" });
    come("a2", { key: "a", criticality: "sheddable" });
    come("b1", { key: "b", criticality: "sheddable" });
    leave();
    expect(log).toEqual(["a1 granted", "b1 granted"]);
    leave();
    expect(log.at(-1)).toBe("a2 granted");
  });

  test("permits of a key cannot be given back by their number", () => {
    const { gate, come, leave } = setup({ limit: 3, keyLimit: 2 });
    come("a", { key: "a", weight: 2 });
    gate.tryEnter();
    expect(codeOf(() => gate.leave(2))).toBe("ADMISSION_LEAVE");
    gate.leave();
    expect(codeOf(() => gate.leave())).toBe("ADMISSION_LEAVE");
    leave();
    expect([gate.used, gate.keys]).toEqual([0, 0]);
  });

  test("who waits for permits of its own key still times out, cancels and drains", () => {
    const { gate, clock, come, log } = setup({ limit: 2, keyLimit: 1, keyQueue: 9, grace: 100 });
    come("a1", { key: "a" });
    come("a2", { key: "a", deadline: 50 });
    const { waiter } = come("a3", { key: "a" });
    come("a4", { key: "a" });
    clock.advance(50);
    expect(gate.cancel(waiter)).toBe(true);
    clock.advance(50);
    expect(log).toEqual(["a2 deadline", "a4 grace"]);
    come("a5", { key: "a" });
    gate.close();
    expect(log.at(-1)).toBe("a5 draining");
    expect([gate.queued, gate.used]).toEqual([0, 1]);
  });
});
