import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { Refusal } from "../../core/contracts/gates.ts";
import { SelfCalls } from "../../plugins/admission/self_calls.ts";
import { SessionLines, type Turn } from "../../plugins/admission/session_lines.ts";
import { VirtualClock } from "./virtual_clock.ts";

const lines = (change: Partial<ConstructorParameters<typeof SessionLines>[0]> = {}, clock = new VirtualClock()) =>
  new SessionLines({ maxQueue: 100, keyQueue: 100, grace: 1000, clock, ...change });

/** Someone who comes to a line, and what becomes of him. */
class Visitor {
  state: "in" | "waits" | "left" | Refusal = "left";
  turn: Turn | undefined;
  onEnd: (() => void) | undefined;

  readonly of: SessionLines;
  readonly key: string;

  constructor(of: SessionLines, key: string, deadline?: number) {
    this.of = of;
    this.key = key;
    const entry = of.enter(key, {
      ...(deadline === undefined ? {} : { deadline }),
      onGrant: () => {
        this.state = "in";
        this.onEnd?.();
      },
      onRefuse: (reason) => {
        this.state = reason;
        this.onEnd?.();
      },
    });
    if (entry === "granted") this.state = "in";
    else if (typeof entry === "string") this.state = entry;
    else {
      this.turn = entry;
      this.state = "waits";
    }
  }

  leave(): void {
    this.state = "left";
    this.of.leave(this.key);
  }
}

describe("lines of sessions", () => {
  test("let one of each key in, the others in order of arrival, and keep nothing of keys that nobody holds", () => {
    const all = lines();
    const [a, b, c] = [new Visitor(all, "x"), new Visitor(all, "x"), new Visitor(all, "x")];
    const other = new Visitor(all, "y");
    expect([a, b, c, other].map(({ state }) => state)).toEqual(["in", "waits", "waits", "in"]);
    expect([all.keys, all.queued]).toEqual([2, 2]);
    a!.leave();
    expect([b!.state, c!.state]).toEqual(["in", "waits"]);
    b!.leave();
    c!.leave();
    other.leave();
    expect([all.keys, all.queued]).toEqual([0, 0]);
  });

  test("a thousand who give up at once do not grow the stack", () => {
    const all = lines({ keyQueue: 1e6, maxQueue: 1e6 });
    const first = new Visitor(all, "x");
    const rest = Array.from({ length: 20_000 }, () => {
      const one = new Visitor(all, "x");
      // As a full gate does to whoever has his turn.
      one.onEnd = () => one.state === "in" && one.leave();
      return one;
    });
    first.leave();
    expect(rest.every(({ state }) => state === "left")).toBe(true);
    expect([all.keys, all.queued]).toEqual([0, 0]);
  });

  test("whatever happens, no key is held twice, nobody passes another, and nothing is left in the end", () => {
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          do: fc.constant("come" as const),
          key: fc.integer({ min: 0, max: 2 }),
          for: fc.integer({ min: 1, max: 300 }),
        }),
      },
      { weight: 3, arbitrary: fc.record({ do: fc.constant("leave" as const), who: fc.nat(30) }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant("cancel" as const), who: fc.nat(30) }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 200 }) }) },
    );
    fc.assert(fc.property(fc.array(step, { maxLength: 80, size: "max" }), (steps) => {
      const clock = new VirtualClock();
      const all = lines({ maxQueue: 8, keyQueue: 4, grace: 150 }, clock);
      const seen: Visitor[] = [];
      const of = (state: string) => seen.filter((one) => one.state === state);
      for (const now of steps) {
        if (now.do === "come") seen.push(new Visitor(all, `k${now.key}`, clock.time + now.for));
        else if (now.do === "wait") clock.advance(now.ms);
        else {
          const some = of(now.do === "leave" ? "in" : "waits");
          const one = some[now.who % Math.max(1, some.length)];
          if (one !== undefined && now.do === "leave") one.leave();
          else if (one !== undefined) {
            expect(one.turn!.cancel()).toBe(true);
            expect(one.turn!.cancel()).toBe(false);
            one.state = "left";
          }
        }
        const held = of("in").map(({ key }) => key);
        expect(new Set(held).size).toBe(held.length);
        expect(all.queued).toBe(of("waits").length);
        expect(all.keys).toBe(held.length);
        for (const one of of("waits")) {
          expect(held).toContain(one.key);
          const later = seen.slice(seen.indexOf(one) + 1);
          expect(later.some(({ key, state }) => key === one.key && state === "in")).toBe(false);
        }
      }
      clock.advance(1000);
      for (const one of of("in")) one.leave();
      expect([all.keys, all.queued, clock.live]).toEqual([0, 0, 0]);
    }));
  });
});

test("a self-call has the word, and comes from this machine", () => {
  const self = new SelfCalls("right");
  const made = (said: string | undefined, peer: string, local = "192.0.2.1") =>
    self.made({
      headers: new Headers(said === undefined ? {} : { "x-fairlead-self": said }),
      peer: { address: peer, port: 1 },
      local: { address: local, port: 80 },
    });
  for (const here of ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1", "", "192.0.2.1"]) {
    expect([here, made("right", here)]).toEqual([here, true]);
    for (const wrong of ["wrong", "righ", "rightt", "", undefined]) expect(made(wrong, here)).toBe(false);
  }
  for (const there of ["203.0.113.1", "::ffff:203.0.113.1", "1.127.0.0", "::2"]) {
    expect([there, made("right", there)]).toEqual([there, false]);
  }
});
