import { describe, expect, test } from "bun:test";
import { closesCircle, type Holding, type Place, type Standing } from "../../plugins/bulkhead/deadlock.ts";

/** An owner, with what it holds and waits for. */
class Who {
  readonly holds: Holding[] = [];
  readonly waits: Standing[] = [];
}

/** A bulkhead that can be written down as who holds and who waits. */
class Where implements Place {
  readonly limit: number;
  readonly held: Holding[] = [];
  readonly line: Standing[] = [];

  constructor(limit: number) {
    this.limit = limit;
  }

  get free(): number {
    return this.limit - this.held.reduce((sum, { weight }) => sum + weight, 0);
  }

  hold(owner: Who | undefined, weight = 1): this {
    const holding = { owner, weight, place: this };
    this.held.push(holding);
    owner?.holds.push(holding);
    return this;
  }

  wait(owner: Who | undefined, weight = 1): this {
    const standing = { owner, weight, place: this };
    this.line.push(standing);
    owner?.waits.push(standing);
    return this;
  }
}

describe("closesCircle", () => {
  const who = (n: number) => Array.from({ length: n }, () => new Who());

  test("finds two that wait for each other, and one that waits for itself", () => {
    const [a, b] = who(2) as [Who, Who];
    const x = new Where(1).hold(a), y = new Where(1).hold(b).wait(a);
    expect(closesCircle(b, x, 1)).toBe(true);
    expect(closesCircle(b, y, 1)).toBe(true);
  });

  test("finds circles of many", () => {
    const all = who(50);
    const places = all.map((one) => new Where(1).hold(one));
    for (let i = 0; i + 1 < all.length; i++) places[i + 1]!.wait(all[i]);
    expect(closesCircle(all.at(-1)!, places[0]!, 1)).toBe(true);
    expect(closesCircle(all.at(-1)!, new Where(1).hold(undefined), 1)).toBe(false);
  });

  test("sees a way out through a permit of somebody who does not wait", () => {
    const [a, b, c] = who(3) as [Who, Who, Who];
    const x = new Where(2).hold(a).hold(c);
    new Where(1).hold(b).wait(a);
    expect(closesCircle(b, x, 1)).toBe(false);
    expect(closesCircle(b, x, 2)).toBe(true);
  });

  test("takes permits without an owner to come back", () => {
    const [a, b] = who(2) as [Who, Who];
    const x = new Where(2).hold(a).hold(undefined);
    new Where(1).hold(b).wait(a);
    expect(closesCircle(b, x, 1)).toBe(false);
  });

  test("counts what those ahead in line want, as they are served first", () => {
    const [a, b, heavy] = who(3) as [Who, Who, Who];
    const x = new Where(3).hold(a).hold(undefined, 2).wait(heavy, 3);
    new Where(1).hold(b).wait(a);
    expect(closesCircle(b, x, 1)).toBe(true);
  });

  test("lets a waiter ahead that will be served give back what it holds elsewhere", () => {
    const [a, b, c] = who(3) as [Who, Who, Who];
    const y = new Where(2).hold(b).hold(c);
    const x = new Where(2).hold(a).hold(undefined).wait(c);
    y.wait(a);
    expect(closesCircle(b, x, 1)).toBe(false);
  });

  test("says nothing of who holds nothing, or does several things at a time", () => {
    const [a, b] = who(2) as [Who, Who];
    const x = new Where(1).hold(a), y = new Where(1).hold(b).wait(a);
    expect(closesCircle(new Who(), x, 1)).toBe(false);
    new Where(1).hold(undefined).wait(a);
    expect(closesCircle(b, x, 1)).toBe(false);
    b.waits.push({ owner: b, weight: 1, place: y });
    expect(closesCircle(b, x, 1)).toBe(false);
  });

  test("does not blame who comes to a circle that others closed", () => {
    const [a, b, late] = who(3) as [Who, Who, Who];
    const x = new Where(1).hold(a), y = new Where(1).hold(b).wait(a);
    x.wait(b);
    new Where(1).hold(late).wait(undefined);
    expect(closesCircle(late, y, 1)).toBe(false);
  });
});
