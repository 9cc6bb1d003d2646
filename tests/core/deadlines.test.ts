import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { Deadlines, type Due } from "../../core/deadlines.ts";

interface Item extends Due<Item> {
  readonly name: number;
}

const item = (name: number, deadline: number): Item => ({ name, deadline, earlier: undefined, later: undefined });

test("who has less time than those before comes first, and the timer is set for the first", async () => {
  const late: number[] = [];
  const all = Promise.withResolvers<void>();
  const deadlines = new Deadlines<Item>(0, ({ name }) => {
    if (late.push(name) === 3) all.resolve();
  });
  const now = performance.now();
  // A timer of its own would keep nobody waiting for the long one.
  const kept = setTimeout(() => {}, 60_000);
  const ended = item(9, now + 5);
  for (const each of [item(1, now + 60), item(2, now + 20), ended, item(3, now + 40)]) deadlines.add(each);
  expect(deadlines.delete(ended)).toBe(true);
  await all.promise;
  clearTimeout(kept);
  expect(late).toEqual([2, 3, 1]);
});

test("whatever is added and taken out, the rest stays in the order of its deadline", () => {
  fc.assert(fc.property(fc.array(fc.tuple(fc.nat(9), fc.boolean()), { maxLength: 30 }), (steps) => {
    const deadlines = new Deadlines<Item>(1e6, () => {});
    const inside: Item[] = [];
    let names = 0;
    for (const [n, add] of steps) {
      if (add || inside.length === 0) {
        const one = item(names++, performance.now() + 1e6 + n * 1000);
        deadlines.add(one);
        inside.push(one);
      } else {
        const [one] = inside.splice(n % inside.length, 1);
        expect([deadlines.delete(one!), deadlines.delete(one!)]).toEqual([true, false]);
      }
      const first = inside.filter(({ earlier }) => earlier === undefined);
      expect(first.length).toBe(inside.length === 0 ? 0 : 1);
      const seen: Item[] = [];
      for (let at: Item | undefined = first[0]; at !== undefined; at = at.later) seen.push(at);
      expect(seen.length).toBe(inside.length);
      for (const [i, { deadline }] of seen.entries()) {
        if (i > 0) expect(seen[i - 1]!.deadline).toBeLessThanOrEqual(deadline);
      }
    }
  }));
});
