/**
 * What every store of bulkheads must do. A store's own test calls {@linkcode conformance} with a way to make one.
 *
 * @module
 */
import { afterEach, describe, expect, test } from "bun:test";
import { CoreError } from "../../core/error.ts";
import type { BulkheadAnswer, BulkheadAsk, BulkheadGrant, BulkheadStore } from "../../plugins/bulkhead/store.ts";

/** What a store is made for. */
export interface StoreSetup {
  /** The limits that the host has configured, by name. */
  readonly limits?: Readonly<Record<string, number>>;
}

/** A store, and what a test must be able to do to it. */
export interface StoreUnderTest {
  readonly store: BulkheadStore;
  /** Another way to the same permits (a second connection, a second host); the same store where there is none. */
  readonly other: BulkheadStore;
  /** Lets `ms` pass, on a virtual clock or a real one. Answers that are due by then are there when it resolves. */
  advance(ms: number): Promise<void>;
  /** The time that `advance` moves, in ms; the runtime's own when absent. */
  now?(): number;
  /** Names told to `lost` and `overtaken` of the store's events, in order. */
  readonly lost: readonly string[];
  readonly overtaken: readonly string[];
  /**
   * Has an owner end as a killed process does: nobody releases anything for it. Permits must be back within `vanishMs`. Absent
   * where owners cannot vanish.
   */
  vanish?(owner: object): Promise<void>;
  close(): Promise<void>;
}

/** What differs between stores. */
export interface StoreTraits {
  /** How long after `vanish` permits may be out, in ms, with a lease of {@linkcode leaseMs}. */
  readonly vanishMs: number;
  /** Whether owners that wait for each other are told so. */
  readonly deadlocks: boolean;
  /** How much later than asked (ms) things may happen; 0 on a virtual clock. */
  readonly slackMs: number;
}

/** The lease (ms) of owners that end without a word. */
const leaseMs = 400;

export type MakeStore = (setup: StoreSetup) => Promise<StoreUnderTest>;

/** Runs the suite; call it at the top of a test file. */
export function conformance(name: string, makeStore: MakeStore, traits: StoreTraits): void {
  describe(`bulkhead store: ${name}`, () => {
    let made: StoreUnderTest | undefined;

    async function make(setup: StoreSetup = {}): Promise<StoreUnderTest> {
      made = await makeStore(setup);
      return made;
    }

    afterEach(async () => {
      await made?.close();
      made = undefined;
    });

    /** Waits until `queued` are in line. */
    async function inLine(queued: number, name = "b"): Promise<void> {
      for (let tries = 0; tries < 2000; tries++) {
        if ((await made!.store.counts(name))?.queued === queued) return;
        await made!.advance(1);
      }
      throw new Error(`Expected ${queued} in line, got ${(await made!.store.counts(name))?.queued}`);
    }

    /** Gets in line as the last, and says who is granted when by `log`. */
    async function queue(
      changes: Partial<BulkheadAsk>,
      label = "",
      log: string[] = [],
      store = made!.store,
    ): Promise<Queued> {
      const before = (await store.counts("b"))!.queued;
      const answer = Promise.resolve(store.acquire(ask({ maxWaitMs: 10_000, ...changes })));
      void answer.then(({ granted }) => granted && log.push(label), () => {});
      await inLine(before + 1);
      return { answer };
    }

    describe("permits", () => {
      test("are granted up to the limit; then who would not wait is denied at once", async () => {
        const { store, other } = await make();
        const held = [granted(await store.acquire(ask())), granted(await other.acquire(ask()))];
        for (const at of [store, other]) {
          expect(await at.acquire(ask())).toMatchObject({ granted: false, reason: "full" });
          expect(await at.counts("b")).toMatchObject({ limit: 2, active: 2, holders: 2, queued: 0, oldestWaitMs: 0 });
        }
        for (const grant of held) {
          expect(grant).toMatchObject({ name: "b", weight: 1, position: 0, lost: false });
          expect(await grant.release()).toBe(true);
        }
        await quiet();
      });

      test("go back once, however often they are released", async () => {
        const { store, other } = await make();
        const first = granted(await store.acquire(ask({ limit: 1 })));
        expect(await first.release()).toBe(true);
        const second = granted(await other.acquire(ask({ limit: 1, maxWaitMs: 1000 })));
        await first.release();
        expect(await store.counts("b")).toMatchObject({ active: 1, holders: 1 });
        expect(await store.acquire(ask({ limit: 1 }))).toMatchObject({ reason: "full" });
        await second.release();
        await quiet();
      });

      test("have weights, all of which are taken and given back", async () => {
        const { store } = await make();
        const heavy = granted(await store.acquire(ask({ limit: 3, weight: 2 })));
        expect(await store.acquire(ask({ limit: 3, weight: 2 }))).toMatchObject({ reason: "full" });
        const light = granted(await store.acquire(ask({ limit: 3 })));
        expect(await store.counts("b")).toMatchObject({ active: 3, holders: 2 });
        await heavy.release();
        await light.release();
        granted(await store.acquire(ask({ limit: 3, weight: 3, maxWaitMs: 1000 })));
      });

      test("never are more than the limit, however many come at the same moment", async () => {
        const { store, other, advance } = await make();
        let out = 0, most = 0, served = 0;
        const one = async (at: BulkheadStore, weight: number) => {
          const grant = granted(await at.acquire(ask({ limit: 3, weight, maxWaitMs: 30_000 })));
          most = Math.max(most, out += weight);
          await Promise.resolve();
          out -= weight;
          served++;
          await grant.release();
        };
        const all = Promise.all(Array.from({ length: 60 }, (_, i) => one(i % 2 === 0 ? store : other, 1 + i % 3)));
        for (let i = 0; i < 5000 && served < 60; i++) await advance(1);
        await all;
        expect(most).toBeLessThan(4);
        await quiet();
      });

      test("have fences that rise with every grant", async () => {
        const { store, other } = await make();
        const fences: number[] = [];
        for (let i = 0; i < 20; i++) {
          const grant = granted(await (i % 2 ? store : other).acquire(ask({ limit: 1, maxWaitMs: 1000 })));
          fences.push(grant.fence);
          const waits = i % 4 === 0 ? await queue({ limit: 1 }) : undefined;
          await grant.release();
          if (waits !== undefined) {
            const next = granted(await waits.answer);
            fences.push(next.fence);
            await next.release();
          }
        }
        expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b));
        expect(Number.isSafeInteger(fences.at(-1))).toBe(true);
      });
    });

    describe("questions that have no answer", () => {
      for (const name of ["", "a b", "a\n", "é", "a/b/c", "/a", "a/", "x".repeat(129), "{a}", "a\0"]) {
        test(`the name ${JSON.stringify(name.slice(0, 9))}`, async () => {
          const { store } = await make();
          expect(await codeOf(() => store.acquire(ask({ name })))).toBe("BULKHEAD_NAME");
        });
      }

      for (const weight of [0, -1, 1.5, 3, NaN]) {
        test(`a weight of ${weight} of 2, even when permits are free`, async () => {
          const { store } = await make();
          expect(await codeOf(() => store.acquire(ask({ weight, maxWaitMs: 1000 })))).toBe("BULKHEAD_WEIGHT");
        });
      }

      for (const limit of [0, -1, 1.5, NaN]) {
        test(`a limit of ${limit}`, async () => {
          const { store } = await make();
          expect(await codeOf(() => store.acquire(ask({ limit })))).toBe("BULKHEAD_LIMIT");
          expect(await codeOf(() => store.resize("b", limit))).toBe("BULKHEAD_LIMIT");
        });
      }
    });

    test("names of any kind are bulkheads of their own, and none is another's inside", async () => {
      const { store } = await make();
      for (const name of ["foo", "lock:foo", "foo:lock", "FOO", "foo.h", "foo/a", "foo/~20", "x".repeat(128)]) {
        granted(await store.acquire(ask({ name, limit: 1 })));
        expect(await store.counts(name)).toMatchObject({ active: 1 });
      }
    });

    test("a bulkhead that nobody has used is not known, and a look at it does not make it so", async () => {
      const { store } = await make();
      for (let i = 0; i < 2; i++) expect(await store.counts("never")).toBe(undefined);
    });

    describe("the line", () => {
      test("is served in order of arrival, from wherever they came", async () => {
        const { store, other, overtaken } = await make();
        const log: string[] = [];
        let last = granted(await store.acquire(ask({ limit: 1 })));
        const waits: Promise<BulkheadAnswer>[] = [];
        for (let i = 0; i < 6; i++) waits.push((await queue({ limit: 1 }, `${i}`, log, i % 2 ? store : other)).answer);
        for (const [i, wait] of waits.entries()) {
          await last.release();
          last = granted(await wait);
          expect(last.position).toBe(i);
          expect(log).toEqual(Array.from({ length: i + 1 }, (_, k) => `${k}`));
        }
        await last.release();
        expect(overtaken).toEqual([]);
        await quiet();
      });

      test("is not passed by newcomers, though what they want were free", async () => {
        const { store } = await make();
        const held = granted(await store.acquire(ask()));
        const heavy = await queue({ weight: 2 });
        expect(await store.acquire(ask())).toMatchObject({ granted: false, reason: "full" });
        await held.release();
        await granted(await heavy.answer).release();
        await quiet();
      });

      test("gives as many their permits as come free at once", async () => {
        const { store } = await make();
        const held = granted(await store.acquire(ask({ weight: 2 })));
        const waits = [await queue({}), await queue({})];
        await held.release();
        for (const { answer } of waits) await granted(await answer).release();
        await quiet();
      });

      test("a waiter for several permits gets them when enough have come back", async () => {
        const { store, advance } = await make();
        const held = [granted(await store.acquire(ask())), granted(await store.acquire(ask()))];
        const log: string[] = [];
        const heavy = await queue({ weight: 2 }, "heavy", log);
        await held[0]!.release();
        await advance(traits.slackMs + 1);
        expect(log).toEqual([]);
        await held[1]!.release();
        expect(granted(await heavy.answer).weight).toBe(2);
      });

      test("has an end, and who finds it full is told", async () => {
        const { store } = await make();
        const held = granted(await store.acquire(ask({ limit: 1 })));
        const first = await queue({ limit: 1, maxQueue: 1 });
        expect(await store.acquire(ask({ limit: 1, maxQueue: 1, maxWaitMs: 1000 }))).toMatchObject({
          granted: false,
          reason: "queue_full",
        });
        expect(await store.acquire(ask({ limit: 1, maxQueue: 0, maxWaitMs: 1000 }))).toMatchObject({
          reason: "queue_full",
        });
        await held.release();
        await granted(await first.answer).release();
        await quiet();
      });

      test("tells how many stand in it, and how long the first has", async () => {
        const { store, advance } = await make();
        const held = granted(await store.acquire(ask({ limit: 1 })));
        const first = await queue({ limit: 1 });
        await advance(30);
        const second = await queue({ limit: 1 });
        const { queued, oldestWaitMs } = (await store.counts("b"))!;
        expect(queued).toBe(2);
        expect(oldestWaitMs).toBeGreaterThanOrEqual(25);
        await held.release();
        const grant = granted(await first.answer);
        expect(grant.waitedMs).toBeGreaterThanOrEqual(25);
        await grant.release();
        await granted(await second.answer).release();
      });
    });

    describe("the end of a wait", () => {
      test("comes with its time, though nothing else happens", async () => {
        const { store, advance } = await make();
        const held = granted(await store.acquire(ask({ limit: 1 })));
        const wait = store.acquire(ask({ limit: 1, maxWaitMs: 40 }));
        await advance(40 + traits.slackMs);
        expect(await store.counts("b")).toMatchObject({ queued: 0, active: 1 });
        const answer = await wait;
        expect(answer).toMatchObject({ granted: false, reason: "timeout" });
        expect(answer.waitedMs).toBeGreaterThanOrEqual(39);
        await held.release();
        await quiet();
      });

      test("is told to who has left before it came", async () => {
        const { store } = await make();
        const held = granted(await store.acquire(ask({ limit: 1 })));
        const signal = AbortSignal.abort(new Error("left"));
        expect(await store.acquire(ask({ limit: 1, maxWaitMs: 1000, signal }))).toMatchObject({ reason: "cancelled" });
        await held.release();
        expect(await store.acquire(ask({ limit: 1, signal }))).toMatchObject({ granted: false, reason: "cancelled" });
        await quiet();
      });

      test("by its signal leaves no trace, and the others in their order", async () => {
        const { store } = await make();
        const log: string[] = [];
        let last = granted(await store.acquire(ask({ limit: 1 })));
        const aborters = Array.from({ length: 6 }, () => new AbortController());
        const waits: Promise<BulkheadAnswer>[] = [];
        for (const [i, { signal }] of aborters.entries()) {
          waits.push((await queue({ limit: 1, signal }, `${i}`, log)).answer);
        }
        for (const i of [1, 4]) {
          aborters[i]!.abort();
          expect(await waits[i]).toMatchObject({ granted: false, reason: "cancelled" });
        }
        await inLine(4);
        for (const i of [0, 2, 3, 5]) {
          await last.release();
          last = granted(await waits[i]!);
        }
        await last.release();
        expect(log).toEqual(["0", "2", "3", "5"]);
        await quiet();
      });

      for (const how of ["signal", "time"]) {
        test(`of a heavy head (by ${how}) lets in those whom it held up`, async () => {
          const { store, advance } = await make();
          const held = granted(await store.acquire(ask()));
          const aborter = new AbortController();
          const heavy = await queue({ weight: 2, signal: aborter.signal, maxWaitMs: how === "time" ? 60 : 10_000 });
          const light = await queue({});
          if (how === "signal") aborter.abort();
          else await advance(60 + traits.slackMs);
          expect(await heavy.answer).toMatchObject({
            granted: false,
            reason: how === "signal" ? "cancelled" : "timeout",
          });
          const second = granted(await light.answer);
          await held.release();
          await second.release();
          await quiet();
        });
      }

      test("at the moment of a release gives the permit to the next, not to nobody", async () => {
        const { store } = await make();
        for (const abortFirst of [true, false]) {
          const held = granted(await store.acquire(ask({ limit: 1, maxWaitMs: 1000 })));
          const aborter = new AbortController();
          const leaver = await queue({ limit: 1, signal: aborter.signal });
          const next = await queue({ limit: 1 });
          if (abortFirst) aborter.abort();
          const released = held.release();
          aborter.abort();
          await released;
          const answer = await leaver.answer;
          if (answer.granted) await answer.release();
          await granted(await next.answer).release();
          await quiet();
        }
      });

      test("of hundreds leaves nobody in line", async () => {
        const { store } = await make();
        const held = granted(await store.acquire(ask({ limit: 1 })));
        const aborter = new AbortController();
        const waits = Array.from(
          { length: 200 },
          () => store.acquire(ask({ limit: 1, maxWaitMs: 10_000, signal: aborter.signal })),
        );
        await inLine(200);
        aborter.abort();
        for (const wait of waits) expect(await wait).toMatchObject({ reason: "cancelled" });
        await inLine(0);
        expect(await store.counts("b")).toMatchObject({ active: 1, oldestWaitMs: 0 });
        await held.release();
        await quiet();
      });
    });

    describe("a limit", () => {
      test("that grows lets in as many as now fit", async () => {
        const { store } = await make();
        const held = granted(await store.acquire(ask({ limit: 1 })));
        const waits = [await queue({ limit: 1 }), await queue({ limit: 1 })];
        await store.resize("b", 3);
        for (const { answer } of waits) granted(await answer);
        expect(await store.counts("b")).toMatchObject({ limit: 3, active: 3, queued: 0 });
        await held.release();
      });

      test("that shrinks takes nothing from holders, and admits nobody until enough has come back", async () => {
        const { store, advance } = await make();
        const held = [];
        for (let i = 0; i < 3; i++) held.push(granted(await store.acquire(ask({ limit: 3 }))));
        await store.resize("b", 1);
        expect(await store.counts("b")).toMatchObject({ limit: 1, active: 3 });
        const log: string[] = [];
        const wait = await queue({ limit: 1 }, "next", log);
        await held[0]!.release();
        await held[1]!.release();
        await advance(traits.slackMs + 1);
        expect(log).toEqual([]);
        await held[2]!.release();
        await granted(await wait.answer).release();
        await quiet();
      });

      test("that shrinks below what a waiter wants denies it", async () => {
        const { store } = await make();
        const held = granted(await store.acquire(ask({ limit: 3, weight: 3 })));
        const heavy = await queue({ limit: 3, weight: 3 });
        await store.resize("b", 2);
        expect(await heavy.answer).toMatchObject({ granted: false, reason: "full" });
        await held.release();
        await quiet();
      });

      test("that another caller names does not touch what is held", async () => {
        const { store } = await make();
        const held = granted(await store.acquire(ask({ limit: 2 })));
        const second = granted(await store.acquire(ask({ limit: 3 })));
        expect(await store.counts("b")).toMatchObject({ limit: 3, active: 2 });
        expect(await store.acquire(ask({ limit: 1 }))).toMatchObject({ reason: "full" });
        expect(await store.counts("b")).toMatchObject({ limit: 1, active: 2 });
        await held.release();
        await second.release();
        await quiet();
      });

      test("of the host is there before anybody came, and can be lowered but not raised", async () => {
        const { store } = await make({ limits: { b: 2 } });
        expect(await store.counts("b")).toMatchObject({ limit: 2, active: 0 });
        const held = [granted(await store.acquire(ask({ limit: 9 }))), granted(await store.acquire(ask({ limit: 9 })))];
        expect(await store.acquire(ask({ limit: 9 }))).toMatchObject({ reason: "full" });
        expect(await codeOf(() => store.acquire(ask({ limit: 9, weight: 3 })))).toBe("BULKHEAD_WEIGHT");
        await held[0]!.release();
        expect(await store.acquire(ask({ limit: 1 }))).toMatchObject({ reason: "full" });
        await held[1]!.release();
      });

      test("of the host holds for each key of a bulkhead", async () => {
        const { store } = await make({ limits: { b: 1 } });
        for (const name of ["b/one", "b/two"]) {
          granted(await store.acquire(ask({ name, limit: 9 })));
          expect(await store.acquire(ask({ name, limit: 9 }))).toMatchObject({ reason: "full" });
        }
      });
    });

    test("20 clients, 5 permits, 50 ms of work, 200 ms of patience: nobody is rejected", async () => {
      const { store, other, advance } = await make();
      const now = made!.now ?? (() => performance.now());
      const asleep: { readonly until: number; readonly wake: () => void }[] = [];
      const work = () => new Promise<void>((wake) => asleep.push({ until: now() + 50, wake }));
      let done = 0;
      const client = async (at: BulkheadStore) => {
        const answer = await at.acquire(ask({ limit: 5, maxWaitMs: 200 + traits.slackMs }));
        if (!answer.granted) return answer.reason;
        await work();
        await answer.release();
        return "served";
      };
      const all = Array.from({ length: 20 }, (_, i) => client(i % 2 ? store : other).finally(() => done++));
      for (let i = 0; i < 2000 && done < 20; i++) {
        await advance(1);
        while (asleep.length > 0 && asleep[0]!.until <= now()) asleep.shift()!.wake();
      }
      expect(await Promise.all(all)).toEqual(Array.from({ length: 20 }, () => "served"));
      await quiet();
    });

    describe("an owner", () => {
      test("that ends without a word gives back all it held, and loses its places", async () => {
        const { store, vanish, advance } = await make();
        if (vanish === undefined) return;
        const owner = { id: "dies" };
        granted(await store.acquire(ask({ owner, weight: 2, leaseMs })));
        granted(await store.acquire(ask({ name: "c", owner, leaseMs })));
        const own = Promise.resolve(store.acquire(ask({ owner: { id: "other" }, maxWaitMs: 10_000 })));
        await inLine(1);
        await vanish(owner);
        await advance(traits.vanishMs + traits.slackMs);
        await granted(await own).release();
        await quiet();
        expect(await store.counts("c")).toMatchObject({ active: 0, holders: 0 });
      });

      if (!traits.deadlocks) return;

      test("that asks for what it holds already, beyond the limit, is told so instead of waiting for itself", async () => {
        const { store } = await make();
        const owner = { id: "again" };
        const held = granted(await store.acquire(ask({ limit: 1, owner })));
        expect(await store.acquire(ask({ limit: 1, owner }))).toMatchObject({ reason: "full" });
        expect(await store.acquire(ask({ limit: 1, owner, maxWaitMs: 5000 }))).toMatchObject({ reason: "deadlock" });
        await held.release();
        await quiet();
      });

      test("may ask again within the limit, or wait for others who hold it", async () => {
        const { store } = await make();
        const owner = { id: "again" };
        const held = [granted(await store.acquire(ask({ owner }))), granted(await store.acquire(ask()))];
        const wait = await queue({ owner });
        await held[1]!.release();
        await granted(await wait.answer).release();
        await held[0]!.release();
        await quiet();
      });

      test("that closes a circle of waits is told so; the others go on", async () => {
        const { store } = await make();
        const [a, b, c] = [{ id: "a" }, { id: "b" }, { id: "c" }];
        const one = (name: string, owner: object, maxWaitMs = 10_000) => ask({ name, limit: 1, owner, maxWaitMs });
        const x = granted(await store.acquire(one("x", a)));
        const y = granted(await store.acquire(one("y", b)));
        const z = granted(await store.acquire(one("z", c)));
        const aWaits = Promise.resolve(store.acquire(one("y", a)));
        await inLine(1, "y");
        const bWaits = Promise.resolve(store.acquire(one("z", b)));
        await inLine(1, "z");
        expect(await store.acquire(one("x", c))).toMatchObject({ granted: false, reason: "deadlock" });
        await z.release();
        const bGot = granted(await bWaits);
        await y.release();
        const aGot = granted(await aWaits);
        for (const grant of [x, bGot, aGot]) await grant.release();
        for (const name of ["x", "y", "z"]) expect(await store.counts(name)).toMatchObject({ active: 0, queued: 0 });
      });

      test("that waits for somebody who only holds is not in a circle", async () => {
        const { store } = await make();
        const [a, b] = [{ id: "a" }, { id: "b" }];
        const x = granted(await store.acquire(ask({ name: "x", limit: 1, owner: a })));
        const y = granted(await store.acquire(ask({ name: "y", limit: 1, owner: b })));
        const wait = Promise.resolve(store.acquire(ask({ name: "y", limit: 1, owner: a, maxWaitMs: 10_000 })));
        await inLine(1, "y");
        await y.release();
        await granted(await wait).release();
        await x.release();
      });
    });

    test("closed, it denies who waits and who comes, and takes back what is out", async () => {
      const { store } = await make();
      const held = granted(await store.acquire(ask({ limit: 1 })));
      const wait = await queue({ limit: 1 });
      const closed = store.close();
      expect(await wait.answer).toMatchObject({ granted: false, reason: "draining" });
      await held.release();
      await closed;
      expect(await store.acquire(ask({ limit: 1, maxWaitMs: 1000 }))).toMatchObject({ reason: "draining" });
    });

    /** Nobody holds and nobody waits. */
    async function quiet(): Promise<void> {
      expect(await made!.store.counts("b")).toMatchObject({ active: 0, holders: 0, queued: 0, oldestWaitMs: 0 });
    }
  });
}

/** Someone in line. */
interface Queued {
  readonly answer: Promise<BulkheadAnswer>;
}

/** The code of the error that `run` throws or rejects with. */
async function codeOf(run: () => unknown): Promise<string> {
  try {
    await run();
  } catch (error) {
    if (error instanceof CoreError) return error.code;
    throw error;
  }
  throw new Error("Expected an error, got none");
}

/** An ask for one of two permits of `b`, without a wait, on a lease that no busy machine lets pass; `changes` say what is different. */
export function ask(changes: Partial<BulkheadAsk> = {}): BulkheadAsk {
  return { name: "b", limit: 2, weight: 1, leaseMs: 30_000, maxWaitMs: 0, ...changes };
}

/** The grant that `answer` must be. */
export function granted(answer: BulkheadAnswer): BulkheadGrant {
  if (!answer.granted) throw new Error(`Expected a grant, got ${answer.reason}`);
  return answer;
}
