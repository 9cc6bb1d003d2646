/** What users of other semaphores, pools and bulkheads have reported, as tests: of the plain gate and of the classed one. */
import { describe, expect, test } from "bun:test";
import type { Waiter } from "../../core/contracts/gates.ts";
import { ClassedGate } from "../../plugins/admission/classed_gate.ts";
import { FairGate } from "../../plugins/admission/fair_gate.ts";
import type { GateOptions } from "../../plugins/admission/gate_options.ts";
import { Client } from "./client.ts";
import { VirtualClock } from "./virtual_clock.ts";

const gates: readonly (readonly [string, (options: GateOptions) => FairGate])[] = [
  ["one line", (options) => new FairGate(options)],
  ["classes and keys", (options) => new ClassedGate({ shares: {}, keys: true, ...options })],
];

for (const [kind, make] of gates) {
  const setup = (options: GateOptions) => {
    const clock = new VirtualClock();
    const log: string[] = [];
    const gate = make({ clock, ...options });
    const come = (id: string | number, wants: { weight?: number; deadline?: number } = {}) => {
      const client = new Client(log, id, wants);
      return { client, verdict: gate.enter(client) };
    };
    return { clock, log, gate, come };
  };

  describe(`reported of others and not true here: ${kind}`, () => {
    test("busy counts who waits: 7535 busy with 16 threads (frankenphp 1796)", () => {
      const { gate, come } = setup({ limit: 16, maxQueue: 1000 });
      for (let i = 0; i < 10_000; i++) come(i);
      expect([gate.used, gate.queued, gate.counts.refused.full]).toEqual([16, 1000, 8984]);
    });

    test("a cancelled heavy head leaves the lighter ones asleep (golang/go 37852)", () => {
      const { gate, log, come } = setup({ limit: 2 });
      come("holder");
      const heavy = come("heavy", { weight: 2 }).client;
      come("light");
      gate.cancel(heavy);
      expect(log).toEqual(["light granted"]);
    });

    test("a heavy head that times out leaves the lighter ones asleep (embassy 6964)", () => {
      const { clock, log, come } = setup({ limit: 2 });
      come("holder");
      come("heavy", { weight: 2, deadline: 5 });
      come("light");
      clock.advance(5);
      expect(log).toEqual(["heavy deadline", "light granted"]);
    });

    test("a waiter dropped after its grant gives its permits back and wakes no one (shuttle 167, asyncio 270, moonbit async 160)", () => {
      const { gate, log, come } = setup({ limit: 2 });
      come("holder", { weight: 2 });
      const first = come("first").client, dropped = come("dropped").client;
      come("next");
      first.then = () => gate.cancel(dropped);
      gate.leave(2);
      expect(log).toEqual(["first granted", "next granted"]);
      expect(gate.used).toBe(2);
    });

    test("a cancel reorders the others (cats-effect 3562)", () => {
      const { gate, log, come } = setup({ limit: 1 });
      come("holder");
      const clients = Array.from({ length: 10 }, (_, i) => come(i + 1).client);
      gate.cancel(clients[1]!);
      gate.cancel(clients[4]!);
      for (let i = 0; i < 8; i++) gate.leave();
      expect(log).toEqual([1, 3, 4, 6, 7, 8, 9, 10].map((id) => `${id} granted`));
    });

    test("a cancel is handled in a later task, and the dead waiter is granted (repoprompt-ce 492)", () => {
      const { gate, log, come } = setup({ limit: 1 });
      come("holder");
      const { client } = come("dead");
      expect(gate.cancel(client)).toBe(true);
      gate.leave();
      expect([log.length, gate.used]).toEqual([0, 0]);
    });

    test("a limit that grows by two wakes one of two (concurrency-limits 70)", () => {
      const { gate, log, come } = setup({ limit: 1 });
      come("holder");
      come("a");
      come("b");
      gate.resize(3);
      expect(log).toEqual(["a granted", "b granted"]);
    });

    test("a release between the look at the limit and getting in line is lost (haproxy 2711, concurrency-limits' LIFO limiter)", () => {
      const { gate, log, come } = setup({ limit: 1 });
      come("holder");
      const a = come("a").client;
      a.then = () => gate.leave();
      expect(come("b").verdict).toBe("queued");
      gate.leave();
      expect(log).toEqual(["a granted", "b granted"]);
    });

    test("the length of the line is never counted down on aborts (haproxy 099c1b244, dotnet 90810)", () => {
      const { gate, come } = setup({ limit: 1 });
      come("holder");
      const clients = Array.from({ length: 1000 }, (_, i) => come(i, { weight: 1 }).client);
      for (const client of clients.toReversed()) gate.cancel(client);
      expect([gate.queued, gate.queuedWeight, gate.queuedOf("critical")]).toEqual([0, 0, 0]);
    });

    test("one release looks at every waiter (haproxy ddab05b98, jackc/puddle 24)", () => {
      let looked = 0;
      const { gate, come } = setup({ limit: 1 });
      come("holder");
      for (let i = 0; i < 20_000; i++) come(i).client.then = () => looked++;
      gate.leave();
      expect([looked, gate.queued]).toEqual([1, 19_999]);
    });

    test("a thousand at once run more than the limit (haproxy 3372a2ea0)", () => {
      let running = 0, most = 0;
      const { gate, clock, come } = setup({ limit: 7 });
      const run = (client: Client) => {
        most = Math.max(most, ++running, gate.used);
        clock.setTimer(1, () => {
          running--;
          gate.leave(client);
        });
      };
      for (let i = 0; i < 1000; i++) {
        const { client, verdict } = come(i);
        client.then = () => run(client);
        if (verdict === "granted") run(client);
      }
      clock.advance(1000);
      expect([most, running, gate.used]).toEqual([7, 0, 0]);
    });

    test("the dead hold places in line until there is traffic (kubernetes 119799)", () => {
      const { gate, clock, come, log } = setup({ limit: 1, maxQueue: 1 });
      come("holder");
      come("late", { deadline: 100 });
      clock.advance(100);
      expect([log, gate.queued]).toEqual([["late deadline"], 0]);
      expect(come("next").verdict).toBe("queued");
    });

    test("a wait starts anew when the limit changes (frankenphp after a scale event)", () => {
      const { gate, clock, come, log } = setup({ limit: 1, grace: 100 });
      come("holder");
      come("a");
      clock.advance(60);
      gate.resize(2);
      gate.resize(1);
      come("b");
      expect(log).toEqual(["a granted"]);
      clock.advance(99);
      expect(log.length).toBe(1);
      clock.advance(1);
      expect(log).toEqual(["a granted", "b grace"]);
    });

    test("a shrink blocks until work drains (resilience4j changeConfig)", () => {
      const { gate, come } = setup({ limit: 4 });
      const clients = [1, 2, 3, 4].map((id) => come(id).client);
      gate.resize(1);
      expect([gate.limit, gate.used]).toEqual([1, 4]);
      for (const client of clients) gate.leave(client);
      expect([gate.used, gate.tryEnter(), gate.tryEnter()]).toEqual([0, true, false]);
    });

    test("a cancelled heavy one in the middle blocks who is behind it (dotnet 77180)", () => {
      const { gate, log, come } = setup({ limit: 5 });
      come("holder", { weight: 4 });
      const heavy = come("heavy", { weight: 5 }).client;
      come("light");
      gate.cancel(heavy);
      expect(log).toEqual(["light granted"]);
    });

    test("a deadline that passes at the very grant still makes the resource (sqlx 622, asyncpg 1247)", () => {
      const { gate, clock, log, come } = setup({ limit: 1 });
      come("holder");
      come("late", { deadline: 10 });
      come("next");
      clock.time = 10;
      gate.leave();
      expect(log).toEqual(["late deadline", "next granted"]);
    });

    test("a permit is released twice, or another's is (resilience4j 263, hystrix 1867, basecamp-cli 712)", () => {
      const { gate, come, log } = setup({ limit: 2 });
      const a = come("a").client, b = come("b").client, c = come("c").client;
      gate.leave(a);
      gate.leave(a);
      expect([gate.used, log]).toEqual([2, ["c granted"]]);
      expect(gate.cancel(a)).toBe(false);
      expect(gate.cancel(b)).toBe(false);
      gate.leave(c);
      gate.leave(b);
      gate.leave(c);
      expect(gate.used).toBe(0);
      const elsewhere = make({ limit: 1 });
      elsewhere.tryEnter();
      elsewhere.leave(b);
      expect(elsewhere.used).toBe(1);
    });

    test("a newcomer runs in the gap between wake and run, and the woken one is rejected (cockatiel)", async () => {
      const { gate, log, come } = setup({ limit: 1, maxQueue: 1 });
      come("holder");
      come("waiting");
      gate.leave();
      expect(come("newcomer").verdict).toBe("queued");
      await Promise.resolve();
      expect(come("another").verdict).toBe("full");
      expect(log).toEqual(["waiting granted"]);
    });

    test("who waits for more than there can be hangs (redisson, dotnet AspLabs)", () => {
      const { gate, come, log } = setup({ limit: 3 });
      expect(() => come("never", { weight: 4 })).toThrow();
      come("holder");
      come("heavy", { weight: 3 });
      gate.resize(2);
      expect(log).toEqual(["heavy full"]);
    });

    test("a permit is lost when a callback throws (rasuvaeff/bulkhead 1.1.1's onAccepted)", () => {
      const errors: unknown[] = [];
      const { gate, come, log } = setup({ limit: 1, onError: (error) => errors.push(error) });
      come("holder");
      const thrower: Client = come("thrower").client;
      thrower.then = () => {
        throw new Error("metrics");
      };
      come("next");
      gate.leave();
      gate.leave(thrower as Waiter);
      expect([log, errors.length, gate.used]).toEqual([["thrower granted", "next granted"], 1, 1]);
    });
  });
}
