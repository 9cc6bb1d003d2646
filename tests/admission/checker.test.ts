import { describe, expect, test } from "bun:test";
import { ClassedGate } from "../../plugins/admission/classed_gate.ts";
import { FairGate } from "../../plugins/admission/fair_gate.ts";
import { explore, type Verdict, type World } from "./checker.ts";
import { classedBugs } from "./classed_bugs.ts";
import { seededBugs } from "./seeded_bugs.ts";

const worlds: Readonly<Record<string, World>> = {
  "one permit each": { limit: 1, clients: [{ weight: 1 }, { weight: 1 }, { weight: 1 }, { weight: 1 }] },
  "a heavy one among light ones": { limit: 2, clients: [{ weight: 2 }, { weight: 1 }, { weight: 1 }, { weight: 1 }] },
  "two heavy ones, resized": {
    limit: 3,
    otherLimit: 2,
    clients: [{ weight: 3 }, { weight: 2 }, { weight: 1 }, { weight: 1 }],
  },
  "impatient ones": {
    limit: 2,
    clients: [{ weight: 2, patience: 2 }, { weight: 1 }, { weight: 2, patience: 1 }, { weight: 1 }],
  },
  "a bounded line that drains": {
    limit: 2,
    maxQueue: 2,
    drains: true,
    clients: [{ weight: 2 }, { weight: 1 }, { weight: 1 }, { weight: 1 }],
  },
  "cancelled from another's grant": {
    limit: 2,
    clients: [{ weight: 2 }, { weight: 1, onGrant: { cancel: 2 } }, { weight: 1 }, {
      weight: 1,
      onGrant: { cancel: 0 },
    }],
  },
  "given back from inside the grant": {
    limit: 2,
    otherLimit: 3,
    drains: true,
    clients: [{ weight: 2, onGrant: "leave" }, { weight: 1, onGrant: "leave" }, { weight: 1 }, { weight: 2 }],
  },
};

/** Small worlds of gates that tell classes and keys apart. */
const classedWorlds: Readonly<Record<string, World>> = {
  "two classes, heavy and light": {
    limit: 2,
    options: { shares: {} },
    clients: [
      { weight: 2, criticality: "sheddable" },
      { weight: 1, criticality: "critical" },
      { weight: 1, criticality: "sheddable" },
      { weight: 2, criticality: "critical" },
    ],
  },
  "a full line gives places to higher classes": {
    limit: 2,
    maxQueue: 2,
    options: { shares: { critical_plus: 2, critical: 2 } },
    clients: [
      { weight: 2, criticality: "sheddable" },
      { weight: 1, criticality: "critical_plus", onGrant: "throw" },
      { weight: 2, criticality: "sheddable_plus" },
      { weight: 1, criticality: "sheddable" },
    ],
  },
  "keys take turns, and two are cancelled from grants": {
    limit: 2,
    otherLimit: 3,
    drains: true,
    options: { keys: true },
    clients: [
      { weight: 2 },
      { weight: 1, key: "a", onGrant: { cancel: 2 } },
      { weight: 1, key: "b", onGrant: { cancel: 3 } },
      { weight: 1, key: "a" },
    ],
  },
  "keys with a cap, waiting for their own": {
    limit: 3,
    options: { keyLimit: 2, keyQueue: 2 },
    clients: [
      { weight: 2, key: "a" },
      { weight: 1, key: "a" },
      { weight: 2, key: "b", onGrant: "leave" },
      { weight: 1, key: "b" },
      { weight: 1 },
    ],
  },
  "keys with a cap, not waiting for their own": {
    limit: 3,
    options: { keyLimit: 2 },
    clients: [{ weight: 1, key: "a" }, { weight: 2, key: "a" }, { weight: 1, key: "a" }, { weight: 3 }],
  },
  "one key in two classes at its cap, impatient": {
    limit: 2,
    otherLimit: 1,
    options: { shares: {}, keyLimit: 1, keyQueue: 3 },
    clients: [
      { weight: 1, key: "a", criticality: "critical" },
      { weight: 1, key: "a", criticality: "sheddable", patience: 2 },
      { weight: 1, key: "b", criticality: "sheddable" },
      { weight: 1, key: "a", criticality: "critical" },
    ],
  },
  "more keys than records": {
    limit: 1,
    options: { keys: true, maxKeys: 1 },
    clients: [{ weight: 1, key: "a" }, { weight: 1, key: "b" }, { weight: 1, key: "b" }, { weight: 1, key: "c" }],
  },
};

/** The invariant each seeded bug breaks. */
const breaks: Readonly<Record<keyof typeof seededBugs, string>> = {
  CancelWakesNobody: "I3",
  CancelSwallowsPermit: "I1",
  CancelOfGrantedWakesNobody: "I3",
  WakesOne: "I3",
  LetsNewcomersPass: "I4",
  ServesLightFirst: "I4",
  ResizeWakesNobody: "I3",
  DrainForgetsOne: "I12",
  QueuesOneTooMany: "I11",
};

/** The world that shows each seeded bug, and the invariant it breaks there. */
const shownBy: Readonly<Record<keyof typeof classedBugs, readonly [world: string, invariant: string]>> = {
  EvictsOldest: ["a full line gives places to higher classes", "I14"],
  EvictsHighest: ["a full line gives places to higher classes", "I14"],
  EvictionWakesNobody: ["a full line gives places to higher classes", "I3"],
  KeyKeepsPermits: ["keys with a cap, waiting for their own", "I6"],
  KeyCountedLate: ["keys with a cap, waiting for their own", "I2"],
  CancelOfGrantedKeepsKey: ["keys take turns, and two are cancelled from grants", "I6"],
  ReturnOfKeyWakesNobody: ["keys with a cap, waiting for their own", "I4"],
  CapCountsTheWaiting: ["one key in two classes at its cap, impatient", "I4"],
  NewestFirst: ["keys take turns, and two are cancelled from grants", "I4"],
  ReturnedTwice: ["keys take turns, and two are cancelled from grants", "I1"],
  NewcomerPassesOwnKey: ["keys with a cap, waiting for their own", "I2"],
  RecordsAreKept: ["keys with a cap, waiting for their own", "I6"],
};

describe("every interleaving of a small world", () => {
  for (const [name, world] of Object.entries(worlds)) {
    test(`keeps the invariants: ${name}`, () => {
      const verdict: Verdict = explore(FairGate, world);
      expect(verdict.violation).toBe(undefined);
      expect(verdict.states).toBeGreaterThan(40);
    });
  }
});

describe("every interleaving of a small world of classes and keys", () => {
  for (const [name, world] of Object.entries(classedWorlds)) {
    test(`keeps the invariants: ${name}`, () => {
      const verdict: Verdict = explore(ClassedGate, world);
      expect(verdict.violation).toBe(undefined);
      expect(verdict.states).toBeGreaterThan(40);
    });
  }

  for (const [name, world] of Object.entries(worlds)) {
    test(`a gate with nothing to tell apart is a fair gate: ${name}`, () => {
      expect(explore(ClassedGate, world).violation).toBe(undefined);
    });
  }
});

describe("the checker finds a seeded bug of classes and keys", () => {
  for (const [name, Gate] of Object.entries(classedBugs)) {
    test(name, () => {
      const [world, invariant] = shownBy[name]!;
      expect(explore(Gate, classedWorlds[world]!).violation?.split(":")[0]).toBe(invariant);
    });
  }
});

describe("the checker finds a seeded bug", () => {
  for (const [name, Gate] of Object.entries(seededBugs)) {
    test(name, () => {
      const found = Object.values(worlds).flatMap((world) => explore(Gate, world).violation?.split(":")[0] ?? []);
      expect([...new Set(found)]).toEqual([breaks[name]!]);
    });
  }

  test("and weight 1 alone would not have shown these", () => {
    const light = worlds["one permit each"]!;
    for (const name of ["CancelWakesNobody", "WakesOne"]) {
      expect(explore(seededBugs[name]!, light).violation).toBe(undefined);
    }
  });
});
