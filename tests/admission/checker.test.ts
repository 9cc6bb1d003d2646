import { describe, expect, test } from "bun:test";
import { FairGate } from "../../plugins/admission/fair_gate.ts";
import { explore, type Verdict, type World } from "./checker.ts";
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

describe("every interleaving of a small world", () => {
  for (const [name, world] of Object.entries(worlds)) {
    test(`keeps the invariants: ${name}`, () => {
      const verdict: Verdict = explore(FairGate, world);
      expect(verdict.violation).toBe(undefined);
      expect(verdict.states).toBeGreaterThan(40);
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
