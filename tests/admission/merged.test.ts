import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { ClassedGate } from "../../plugins/admission/classed_gate.ts";
import { merged } from "../../plugins/admission/merged.ts";
import { Node } from "../../plugins/admission/queue_node.ts";
import { VirtualClock } from "./virtual_clock.ts";

const node = (seq: number): Node => Object.assign(new Node({}), { seq });

describe("lines in one order", () => {
  test("are what sorting them would be, also while those it gives leave", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(3), { maxLength: 60, size: "max" }), fc.boolean(), (where, leaving) => {
        const lines: Node[][] = [[], [], [], []];
        const all = where.map((line, seq) => {
          const one = node(seq);
          lines[line]!.push(one);
          return one;
        });
        const sets = lines.map((line) => new Set(line));
        const given: Node[] = [];
        for (const one of merged(sets)) {
          given.push(one);
          if (leaving) { for (const set of sets) set.delete(one); }
        }
        expect(given.length).toBe(all.length);
        expect(given.every((one, i) => one === all[i])).toBe(true);
      }),
    );
  });

  test("are read no further than is asked for", () => {
    let read = 0;
    const line = function* (from: number) {
      for (let seq = from; seq < 100_000; seq += 2) {
        read++;
        yield node(seq);
      }
    };
    const first: number[] = [];
    for (const one of merged([line(0), line(1), []])) {
      if (first.push(one.seq) === 100) break;
    }
    expect(first).toEqual(Array.from({ length: 100 }, (_, i) => i));
    expect(read).toBeLessThan(103);
  });

  test("are how a gate shows who waits, whatever class and key they have", () => {
    const classes = ["critical_plus", "critical", "sheddable_plus", "sheddable"] as const;
    for (const keys of [false, true]) {
      const clock = new VirtualClock();
      const gate = new ClassedGate({ name: "g", limit: 1, maxQueue: Infinity, clock, shares: {}, keys });
      gate.tryEnter();
      for (let i = 0; i < 300; i++) {
        clock.advance(1);
        const key = `k${i % 7}`;
        gate.enter({ onGrant() {}, onRefuse() {}, criticality: classes[(i * 5) % 4]!, ...(keys ? { key } : {}) });
      }
      const now = clock.now();
      expect(gate.waiting(150).map(({ waitedMs }) => now - waitedMs)).toEqual(
        Array.from({ length: 150 }, (_, i) => now - 299 + i),
      );
    }
  });
});
