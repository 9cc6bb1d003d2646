import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { Account } from "../../plugins/admission/account.ts";
import { Arrivals } from "../../plugins/admission/arrivals.ts";
import { KeyLine } from "../../plugins/admission/key_line.ts";
import { KeyRing } from "../../plugins/admission/key_ring.ts";
import { Node } from "../../plugins/admission/queue_node.ts";

const node = (): Node => new Node({});

describe("arrivals", () => {
  test("are what an array would be, whoever leaves, through growth and compaction", () => {
    const steps = fc.array(fc.oneof({ weight: 3, arbitrary: fc.constant(-1) }, { weight: 2, arbitrary: fc.nat(500) }), {
      maxLength: 600,
      size: "max",
    });
    fc.assert(
      fc.property(steps, (all) => {
        const arrivals = new Arrivals();
        const model: Node[] = [];
        for (const step of all) {
          if (step < 0) {
            const next = node();
            model.push(next);
            arrivals.push(next);
          } else if (model.length > 0) arrivals.remove(model.splice(step % model.length, 1)[0]!);
          expect(arrivals.size).toBe(model.length);
          expect(arrivals.oldest === model[0]).toBe(true);
          expect(arrivals.latest === model.at(-1)).toBe(true);
        }
        const [listed, newest] = [[...arrivals], [...arrivals.newest(Infinity)]];
        expect(listed.length).toBe(model.length);
        expect(listed.every((one, i) => one === model[i])).toBe(true);
        expect(newest.every((one, i) => one === model[model.length - 1 - i])).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  test("that are looked at from the newest on are so many at most", () => {
    const arrivals = new Arrivals();
    const all = Array.from({ length: 200 }, node);
    for (const one of all) arrivals.push(one);
    expect([...arrivals.newest(16)].length).toBe(16);
    expect([...arrivals.newest(16)][0] === all[199]).toBe(true);
  });
});

describe("the round of keys", () => {
  test("gives no credit to a key that waits and cannot be served, and takes it up again when it can", () => {
    const ring = new KeyRing(() => {});
    const line = (key: string) => new KeyLine(new Account(key, true), 1);
    const [capped, other] = [line("capped"), line("other")];
    ring.enable(capped);
    ring.enable(other);
    // It owes when its last waiter leaves, so it stays in the round; the next one comes while it is above its cap.
    for (let i = 0; i < 5; i++) ring.charge(capped, 1);
    ring.disable(capped);
    capped.size = 1;
    for (let i = 0; i < 1000; i++) {
      expect(ring.choose() === other).toBe(true);
      ring.charge(other, 1);
    }
    expect(capped.deficit).toBe(0);
    ring.enable(capped);
    const turns = Array.from({ length: 10 }, () => {
      const turn = ring.choose()!;
      ring.charge(turn, 1);
      return turn.account.key;
    });
    expect(turns.filter((key) => key === "capped").length).toBe(5);
  });
});
