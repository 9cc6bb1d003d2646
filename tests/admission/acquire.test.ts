import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { CoreError } from "../../core/error.ts";
import { FairGate } from "../../plugins/admission/fair_gate.ts";
import { VirtualClock } from "./virtual_clock.ts";

async function errorOf(promise: Promise<unknown>): Promise<CoreError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof CoreError) return error;
    throw error;
  }
  throw new Error("Expected a rejection");
}

describe("acquire", () => {
  test("waits its turn and is given back by `using`, once", async () => {
    const gate = new FairGate({ limit: 1, clock: new VirtualClock() });
    const order: number[] = [];
    const work = async (id: number) => {
      using permit = await gate.acquire();
      order.push(id);
      await Promise.resolve();
      expect(permit.weight).toBe(1);
      permit.release();
      permit.release();
    };
    await Promise.all([1, 2, 3].map(work));
    expect(order).toEqual([1, 2, 3]);
    expect(gate.used).toBe(0);
  });

  test("tryAcquire takes what is free and never passes a waiter", () => {
    const gate = new FairGate({ limit: 3, clock: new VirtualClock() });
    const permit = gate.tryAcquire(2)!;
    expect(gate.tryAcquire(2)).toBe(undefined);
    void gate.acquire({ weight: 2 });
    expect(gate.tryAcquire(1)).toBe(undefined);
    permit.release();
    expect([gate.used, gate.queued]).toEqual([2, 0]);
  });

  test("tells a refusal by code and status", async () => {
    const clock = new VirtualClock();
    const gate = new FairGate({ name: "php", limit: 1, maxQueue: 2, grace: 100, clock });
    const holder = await gate.acquire();
    const grace = errorOf(gate.acquire());
    const deadline = errorOf(gate.acquire({ deadline: 50 }));
    const full = await errorOf(gate.acquire());
    expect([full.code, full.status]).toEqual(["ADMISSION_FULL", 503]);
    expect(full.message).toBe("Cannot enter gate php: the line is full");
    clock.advance(100);
    expect([(await deadline).code, (await deadline).status]).toEqual(["ADMISSION_DEADLINE", 504]);
    expect([(await grace).code, (await grace).status]).toEqual(["ADMISSION_GRACE", 503]);
    const drained = errorOf(gate.acquire());
    const idle = gate.drain();
    expect((await drained).code).toBe("ADMISSION_DRAINING");
    holder.release();
    await idle;
    expect((await errorOf(gate.acquire({ weight: 2 }))).code).toBe("ADMISSION_WEIGHT");
  });

  test("a signal ends the wait, before it and during it", async () => {
    const gate = new FairGate({ limit: 1, clock: new VirtualClock() });
    const reason = new Error("enough");
    const before = await errorOf(gate.acquire({ signal: AbortSignal.abort(reason) }));
    expect([before.code, before.cause]).toEqual(["ADMISSION_CANCELLED", reason]);
    const holder = await gate.acquire();
    const aborter = new AbortController();
    const during = errorOf(gate.acquire({ signal: aborter.signal }));
    aborter.abort(reason);
    expect(gate.queued).toBe(0);
    expect((await during).cause).toBe(reason);
    holder.release();
    expect(gate.used).toBe(0);
  });

  test("a signal that fires after the grant takes nothing away", async () => {
    const gate = new FairGate({ limit: 1, clock: new VirtualClock() });
    const holder = await gate.acquire();
    const aborter = new AbortController();
    const next = gate.acquire({ signal: aborter.signal });
    holder.release();
    aborter.abort();
    const permit = await next;
    expect(gate.used).toBe(1);
    permit.release();
    expect(gate.used).toBe(0);
  });

  test("leaks nothing, however acquires, aborts and releases fall", async () => {
    const steps = fc.array(
      fc.record({ weight: fc.integer({ min: 1, max: 3 }), abortAt: fc.nat(6), holdFor: fc.nat(4) }),
      {
        maxLength: 20,
      },
    );
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), steps, async (scheduler, clients) => {
        const gate = new FairGate({ limit: 3, maxQueue: 8, clock: new VirtualClock() });
        let running = 0;
        const all = clients.map(async ({ weight, abortAt, holdFor }) => {
          const aborter = new AbortController();
          if (abortAt < 4) void scheduler.schedule(Promise.resolve(), "abort").then(() => aborter.abort());
          await scheduler.schedule(Promise.resolve(), "arrive");
          try {
            using _permit = await gate.acquire({ weight, signal: aborter.signal });
            running += weight;
            expect(running).toBeLessThan(4);
            for (let i = 0; i < holdFor; i++) await scheduler.schedule(Promise.resolve(), "work");
            running -= weight;
          } catch (error) {
            if (!(error instanceof CoreError)) throw error;
          }
        });
        await scheduler.waitFor(Promise.all(all));
        expect([gate.used, gate.queued]).toEqual([0, 0]);
      }),
      { numRuns: 200 },
    );
  });
});
