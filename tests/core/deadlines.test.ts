import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { Deadlines, type Due } from "../../core/deadlines.ts";

interface Item extends Due {
  readonly name: number;
}

const item = (name: number, deadline: number): Item => ({ name, deadline, place: -1 });

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

test("whatever is added and taken out, the rest comes in the order of its deadline", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(fc.nat(9), fc.boolean()), { maxLength: 60, size: "max" }), async (steps) => {
      const late: Item[] = [];
      const inside: Item[] = [];
      const all = Promise.withResolvers<void>();
      const deadlines = new Deadlines<Item>(0, (one) => {
        late.push(one);
        if (one.name === -1) all.resolve();
      });
      // All are over by the time that the timer comes.
      const past = performance.now() - 1000;
      for (const [i, [n, add]] of steps.entries()) {
        if (add || inside.length === 0) {
          const one = item(i, past + n);
          deadlines.add(one);
          inside.push(one);
        } else {
          const [one] = inside.splice(n % inside.length, 1);
          expect([deadlines.delete(one!), deadlines.delete(one!)]).toEqual([true, false]);
        }
      }
      const end = item(-1, past + 500);
      const kept = setTimeout(() => {}, 60_000);
      deadlines.add(end);
      await all.promise;
      clearTimeout(kept);
      expect(late.map(({ deadline }) => deadline)).toEqual(
        [...inside, end].map(({ deadline }) => deadline).sort((a, b) => a - b),
      );
      expect(new Set(late)).toEqual(new Set([...inside, end]));
      for (const one of late) expect(deadlines.delete(one)).toBe(false);
    }),
  );
});

test("who has less time than thousands before passes few of them", () => {
  let looks = 0;
  const deadlines = new Deadlines<Item>(1e6, () => {});
  const now = performance.now();
  const make = (name: number, deadline: number) => {
    const one = { name, place: -1 };
    return Object.defineProperty(one, "deadline", { get: () => (looks++, deadline) }) as unknown as Item;
  };
  for (let i = 0; i < 4096; i++) deadlines.add(make(i, now + 1e6 + i));
  looks = 0;
  for (let i = 0; i < 100; i++) deadlines.add(make(i, now + 1e5 - i));
  expect(looks / 100).toBeLessThan(50);
});
