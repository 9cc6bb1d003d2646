/**
 * What every store of bulkheads must do. A store's own test calls {@linkcode conformance} with a way to make one.
 *
 * @module
 */
import { afterEach, describe, expect, test } from "bun:test";
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
  /** How long after `vanish` permits may be out, in ms, with a lease of `leaseMs` (below). */
  readonly vanishMs: number;
  /** Whether owners that wait for each other are told so. */
  readonly deadlocks: boolean;
  /** How much later than asked (ms) things may happen; 0 on a virtual clock. */
  readonly slackMs: number;
}

/** The lease of every ask in this suite, in ms. */
export const leaseMs = 400;

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

    test("grants up to the limit, then denies at once who would not wait", async () => {
      const { store } = await make();
      const held = [granted(await store.acquire(ask())), granted(await store.acquire(ask()))];
      expect(await store.acquire(ask())).toMatchObject({ granted: false, reason: "full" });
      expect(await store.counts("b")).toMatchObject({ limit: 2, active: 2, holders: 2, queued: 0 });
      for (const grant of held) expect(await grant.release()).toBe(true);
      expect(await store.counts("b")).toMatchObject({ active: 0, holders: 0 });
    });

    test("ends a wait when its time is over", async () => {
      const { store, advance } = await make();
      const held = granted(await store.acquire(ask({ limit: 1 })));
      const later = store.acquire(ask({ limit: 1, maxWaitMs: 40 }));
      await advance(40 + traits.slackMs);
      expect(await later).toMatchObject({ granted: false, reason: "timeout" });
      await held.release();
    });
  });
}

/** An ask for one of two permits of `b`, without a wait; `changes` say what is different. */
export function ask(changes: Partial<BulkheadAsk> = {}): BulkheadAsk {
  return { name: "b", limit: 2, weight: 1, leaseMs, maxWaitMs: 0, ...changes };
}

/** The grant that `answer` must be. */
export function granted(answer: BulkheadAnswer): BulkheadGrant {
  if (!answer.granted) throw new Error(`Expected a grant, got ${answer.reason}`);
  return answer;
}
