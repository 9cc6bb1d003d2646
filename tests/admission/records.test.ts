import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { Waiter } from "../../core/contracts/gates.ts";
import { Accounts } from "../../plugins/admission/accounts.ts";
import { ClassedGate } from "../../plugins/admission/classed_gate.ts";
import { FairGate } from "../../plugins/admission/fair_gate.ts";
import { VirtualClock } from "./virtual_clock.ts";

const gates = { FairGate, ClassedGate };
const waiter = (key?: string): Waiter => ({ onGrant() {}, onRefuse() {}, ...(key === undefined ? {} : { key }) });

for (const [name, Gate] of Object.entries(gates)) {
  describe(`a visit that is over has no say in the next one's: ${name}`, () => {
    test("after its permit came back", () => {
      const gate = new Gate({ limit: 1, clock: new VirtualClock() });
      const [first, second] = [waiter(), waiter()];
      expect([gate.enter(first), gate.enter(second)]).toEqual(["granted", "queued"]);
      gate.leave(first);
      gate.leave(first);
      expect([gate.cancel(first), gate.used]).toEqual([false, 1]);
      const third = waiter();
      gate.enter(third);
      gate.leave(first);
      expect([gate.cancel(first), gate.used, gate.queued, gate.next === third]).toEqual([false, 1, 1, true]);
    });

    test("after it left the line, or was refused", () => {
      const clock = new VirtualClock();
      const gate = new Gate({ limit: 1, grace: 10, clock });
      gate.tryEnter();
      const [left, refused] = [waiter(), waiter()];
      gate.enter(left);
      gate.enter(refused);
      expect(gate.cancel(left)).toBe(true);
      clock.advance(10);
      const [next, last] = [waiter(), waiter()];
      gate.enter(next);
      gate.enter(last);
      for (const gone of [left, refused]) {
        gate.leave(gone);
        expect([gate.cancel(gone), gate.used, gate.queued]).toEqual([false, 1, 2]);
        expect(() => gate.enter(gone)).toThrow("twice");
      }
    });

    test("at another gate", () => {
      const [gate, other] = [new Gate({ limit: 1, name: "a" }), new Gate({ limit: 1, name: "b" })];
      const one = waiter();
      gate.enter(one);
      other.tryEnter();
      other.leave(one);
      expect([other.cancel(one), other.used, gate.used]).toEqual([false, 1, 1]);
      expect(() => other.enter(one)).toThrow("twice");
    });

    test("when a whole long line has gone", () => {
      const gate = new Gate({ limit: 1, clock: new VirtualClock() });
      for (let round = 0; round < 3; round++) {
        gate.tryEnter();
        let granted = 0;
        const crowd = Array.from({ length: 3000 }, () => ({
          onGrant() {
            granted++;
            gate.leave(this);
          },
          onRefuse() {},
        }));
        for (const one of crowd) gate.enter(one);
        gate.leave();
        expect([granted, gate.used, gate.queued]).toEqual([3000, 0, 0]);
      }
    });
  });
}

describe("records of keys", () => {
  test("are as many as there may be, however keys come and go, and one key in use has one", () => {
    const step = fc.record({ key: fc.nat(12), come: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: "max" }), fc.integer({ min: 1, max: 6 }), (steps, most) => {
        const accounts = new Accounts(most);
        const used = new Map<string, ReturnType<Accounts["use"]>>();
        for (const { key: number, come } of steps) {
          const key = `${number}`;
          const known = used.get(key);
          if (come && known === undefined) {
            const found = accounts.find(key) ?? accounts.make(key);
            const line = accounts.use(found, 1);
            // Of a record that is shared nobody keeps count here.
            if (!line.account.capped) {
              expect(used.size).toBe(most);
              continue;
            }
            expect([line.account.key, line.deficit, line.mean, line.size]).toEqual([key, 0, 0, 0]);
            line.account.used = 1;
            line.mean = line.deficit = 7;
            used.set(key, line);
          } else if (!come && known !== undefined) {
            known.account.used = 0;
            accounts.tidy(known.account);
            used.delete(key);
          }
          expect(accounts.size).toBe(used.size);
          expect(accounts.kept).toBeLessThanOrEqual(most);
          for (const [one, line] of used) expect(accounts.find(one) === line.account).toBe(true);
        }
      }),
    );
  });

  test("that nobody uses are bounded too, and not kept for long keys", () => {
    const accounts = new Accounts(1_000_000);
    const all = Array.from({ length: 40_000 }, (_, i) => accounts.use(accounts.make(`key ${i}`), 1).account);
    expect([accounts.size, accounts.kept]).toEqual([40_000, 40_000]);
    for (const account of all) accounts.tidy(account);
    expect([accounts.size, accounts.kept]).toEqual([0, 16_384]);
    const long = "k".repeat(101);
    accounts.tidy(accounts.use(accounts.make(long), 1).account);
    expect([accounts.find(long), accounts.size]).toEqual([undefined, 0]);
  });

  test("stay few while a hundred thousand keys pass by, and the share of one is asked for each time it turns up", () => {
    const asked: string[] = [];
    const keyWeight = (key: string) => {
      if (key === "again") asked.push(key);
      return 1;
    };
    const gate = new ClassedGate({ limit: 1, keys: true, maxKeys: 100, keyWeight, clock: new VirtualClock() });
    gate.tryEnter();
    const accounts = (gate as unknown as { line: { accounts: Accounts } }).line.accounts;
    for (let i = 0; i < 100_000; i++) {
      const one = waiter(i % 40_000 === 0 ? "again" : `key ${i}`);
      gate.enter(one);
      gate.cancel(one);
    }
    expect([accounts.kept, gate.keys, gate.queued, asked.length]).toEqual([100, 0, 0, 3]);
  });

  test("serve a key with many waiters beside many with one in turn, in order inside the key", () => {
    const gate = new ClassedGate({ limit: 1, keys: true, maxKeys: 2000, clock: new VirtualClock() });
    gate.tryEnter();
    const served: string[] = [];
    const come = (key: string, name: string) =>
      gate.enter({
        key,
        onGrant() {
          served.push(name);
          gate.leave(this);
        },
        onRefuse() {},
      });
    for (let i = 0; i < 20_000; i++) come("crowd", `crowd ${i}`);
    for (let i = 0; i < 1000; i++) come(`key ${i}`, `single ${i}`);
    gate.leave();
    const crowd = served.filter((name) => name.startsWith("crowd"));
    expect(crowd).toEqual(Array.from({ length: 20_000 }, (_, i) => `crowd ${i}`));
    // Each of the single ones has its turn before the crowd has a second one.
    expect(served.slice(0, 1003).filter((name) => name.startsWith("single")).length).toBeGreaterThan(998);
    expect([gate.keys, gate.used]).toEqual([0, 0]);
  });
});
