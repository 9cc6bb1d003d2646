import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { Sparing } from "../../core/sparing.ts";
import { VirtualClock } from "../admission/virtual_clock.ts";

function sparing() {
  const clock = new VirtualClock();
  const told: [at: number, kind: string, sum: number][] = [];
  const one = new Sparing<string, number>(clock, (a, b) => a + b, (kind, sum) => told.push([clock.now(), kind, sum]));
  return { clock, told, one, start: clock.now() };
}

describe("sparing", () => {
  test("tells the first at once and the rest of a second at its end, by kind, and begins anew after a quiet one", () => {
    const { clock, told, one, start } = sparing();
    one.happened("a", 1);
    one.happened("a", 2);
    clock.advance(600);
    one.happened("a", 3);
    one.happened("b", 4);
    expect([one.size, one.has("a"), one.has("c")]).toEqual([2, true, false]);
    clock.advance(400);
    one.happened("a", 5);
    clock.advance(5000);
    expect(told).toEqual([[start, "a", 1], [start + 600, "b", 4], [start + 1000, "a", 5], [start + 2000, "a", 5]]);
    expect(one.size).toBe(0);
    one.happened("a", 6);
    expect(told.at(-1)).toEqual([start + 6000, "a", 6]);
  });

  test("lets the first be told in another way", () => {
    const { clock, told, one, start } = sparing();
    let first = 0;
    for (let i = 0; i < 3; i++) one.happened("a", 1, () => first++);
    clock.advance(1000);
    expect([first, told]).toEqual([1, [[start + 1000, "a", 2]]]);
  });

  test("tells at the end what was not told, and nothing after it", () => {
    const { clock, told, one, start } = sparing();
    one.happened("a", 1);
    one.happened("a", 1);
    one.happened("b", 1);
    one.close();
    clock.advance(5000);
    expect(told).toEqual([[start, "a", 1], [start, "b", 1], [start, "a", 1]]);
  });

  test("loses nothing, and tells no kind twice within a second", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom("a", "b"), fc.nat(9), fc.nat(700))),
        (events) => {
          const { clock, told, one } = sparing();
          for (const [kind, count, pause] of events) {
            one.happened(kind, count + 1);
            clock.advance(pause);
          }
          clock.advance(2000);
          for (const kind of ["a", "b"]) {
            const mine = told.filter(([, which]) => which === kind);
            const sum = events.filter(([which]) => which === kind).reduce((all, [, count]) => all + count + 1, 0);
            expect(mine.reduce((all, [, , one]) => all + one, 0)).toBe(sum);
            for (let i = 1; i < mine.length; i++) expect(mine[i]![0] - mine[i - 1]![0]).toBeGreaterThanOrEqual(1000);
          }
        },
      ),
    );
  });
});
