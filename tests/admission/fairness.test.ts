import { describe, expect, test } from "bun:test";
import { Fairness } from "../../plugins/admission/fairness.ts";

/** A closed loop of clients on slots of 10 ms; `next` says who of the line goes first. */
function loop(clients: number, slots: number, next: (line: number[]) => number, ms: () => number = () => 10): Fairness {
  const fairness = new Fairness();
  const came: number[] = [], ahead: number[] = [];
  let line: number[] = [];
  let running: { readonly who: number; readonly ends: number }[] = [];
  for (let who = 0; who < slots; who++) running.push({ who, ends: (who + 1) * ms() / slots });
  for (let who = slots; who < clients; who++) {
    came[who] = 0;
    ahead[who] = line.length;
    line.push(who);
  }
  for (let i = 0; i < 3000; i++) {
    const first = running.reduce((a, b) => a.ends <= b.ends ? a : b);
    const now = first.ends;
    running = running.filter((one) => one !== first);
    came[first.who] = now;
    ahead[first.who] = line.length;
    line.push(first.who);
    const who = line[next(line)]!;
    line = line.filter((one) => one !== who);
    if (who !== first.who) fairness.granted(now, now - came[who]!, ahead[who]!, 1);
    running.push({ who, ends: now + ms() });
  }
  return fairness;
}

const at = (fairness: Fairness) => fairness.ratio(15_000, 2);

describe("the ratio of waits to those of an ideal line", () => {
  test("is 1 in order of arrival, and near it where service varies", () => {
    expect(at(loop(50, 2, () => 0))).toBeCloseTo(1, 1);
    let seed = 42;
    const random = () => (seed = seed * 16807 % 2147483647) / 2147483647;
    const varied = loop(50, 2, () => 0, () => 20 * random());
    expect(varied.ratio(15_000, 2)!).toBeLessThan(1.6);
  });

  test("shows laps where newcomers may go first", () => {
    let seed = 7;
    const random = () => (seed = seed * 16807 % 2147483647) / 2147483647;
    const barged = loop(50, 2, (line) => {
      if (random() >= 0.43) return 0;
      // Whoever lost the race goes to the back.
      line.splice(-1, 0, line.shift()!);
      return line.length - 1;
    });
    expect(at(barged)!).toBeGreaterThan(2.5);
  });

  test("says nothing of few, of long ago, and of lines that are shorter than what runs", () => {
    const few = new Fairness();
    for (let i = 0; i < 99; i++) few.granted(i, 50, 10, 1);
    expect(few.ratio(100, 2)).toBe(undefined);
    few.granted(99, 50, 10, 1);
    expect(few.ratio(100, 2)).not.toBe(undefined);
    expect(few.ratio(100, 11)).toBe(undefined);
    expect(few.ratio(11_000, 2)).toBe(undefined);
  });
});
