import { systemClock } from "../../../core/clock.ts";
import { CoreError } from "../../../core/error.ts";
import { badLimit } from "../errors.ts";
import { inTime, patientTimer } from "../in_time.ts";
import { checkName } from "../name.ts";
import type { BulkheadAnswer, BulkheadAsk, BulkheadCounts, BulkheadDenialReason, BulkheadStore } from "../store.ts";
import { readCounted, readDeny, readFault, readGrant, readReleased } from "./answers.ts";
import { writeAcquire, writeCounts, writeRelease, writeResize } from "./asks.ts";
import { Calls } from "./calls.ts";
import { checkAsk } from "./check_ask.ts";
import { bare, broken, op } from "./frame.ts";
import { RemoteGrant } from "./remote_grant.ts";

export interface LocalStoreOptions {
  /** Of the server's socket. */
  readonly path: string;
  /**
   * What happens while the server cannot be reached: `closed` (when absent) denies with `unavailable`, `open` lets everybody in,
   * with a fence of 0.
   */
  readonly onUnavailable?: "closed" | "open";
  /** How long (ms) the server may take to greet, and beyond the longest wait to answer; 2 s when absent. */
  readonly greetMs?: number;
  /** What a listener for lost permits threw; thrown in a microtask of its own when absent. */
  readonly onError?: (error: unknown) => void;
}

/** How long (ms) who gives back waits to hear whether it was in time. */
const hasteMs = 10;

/**
 * The bulkheads of the server on this machine, for another process of it. It connects when it is first asked, and again when the
 * connection was lost: what was held is lost then, and who waited is answered as `onUnavailable` says.
 *
 * @example
 * ```ts
 * const store = new LocalStore({ path: process.env.FAIRLEAD_BULKHEAD_SOCKET! });
 * const answer = await store.acquire({ name: "legacy-api", limit: 10, weight: 1, leaseMs: 30_000, maxWaitMs: 200 });
 * ```
 */
export class LocalStore implements BulkheadStore {
  readonly kind = "local";
  readonly #options: LocalStoreOptions;
  readonly #greetMs: number;
  readonly #calls: Calls;
  readonly #owners = new WeakMap<object, number>();
  /** 0 and 1 mean nobody and the connection. */
  #lastOwner = 1;
  #closed = false;

  constructor(options: LocalStoreOptions) {
    this.#options = options;
    const greetMs = this.#greetMs = options.greetMs ?? 2000;
    this.#calls = new Calls({ path: options.path, greetMs, onError: options.onError });
  }

  async acquire(ask: BulkheadAsk): Promise<BulkheadAnswer> {
    checkAsk(ask);
    const began = performance.now();
    const denied = (reason: BulkheadDenialReason, cause?: unknown): BulkheadAnswer => {
      const waitedMs = performance.now() - began;
      return { granted: false, reason, waitedMs, retryAfterMs: 0, ...(cause === undefined ? {} : { cause }) };
    };
    const { name, weight, maxWaitMs, signal } = ask;
    if (this.#closed) return denied("draining");
    if (signal?.aborted) return denied("cancelled");
    const number = this.#calls.next();
    let off = () => {};
    let cancel = () => {};
    try {
      return await new Promise<BulkheadAnswer>((resolve, reject) => {
        /** Without the server, which may be slow, or stopped. */
        const leave = (answer: BulkheadAnswer) => {
          this.#calls.forget(number);
          this.#calls.tell(bare(op.cancel, number));
          resolve(answer);
        };
        const unavailable = (cause: Error): BulkheadAnswer => {
          if (this.#options.onUnavailable !== "open") return denied("unavailable", cause);
          const granted = { fence: 0, waitedMs: performance.now() - began, position: 0 };
          return new RemoteGrant(name, weight, granted, () => Promise.resolve(true));
        };
        cancel = () => leave(denied("cancelled"));
        signal?.addEventListener("abort", cancel);
        const late = maxWaitMs + this.#greetMs;
        off = patientTimer(systemClock, late, () => leave(unavailable(noAnswer(late))));
        this.#calls.ask(
          number,
          writeAcquire(number, { ...ask, maxQueue: ask.maxQueue, owner: this.#ownerOf(ask.owner) }),
          {
            onAnswer: (type, payload) => {
              if (type === op.grant) {
                const grant = new RemoteGrant(name, weight, readGrant(payload), () => this.#giveBack(number));
                this.#calls.hold(number, grant);
                resolve(grant);
              } else if (type === op.deny) resolve({ granted: false, ...readDeny(payload) });
              else if (type === op.fault) reject(readFault(payload));
              else throw broken(`Expected an answer to an acquire, got type ${type}`);
            },
            onGone: (cause) => resolve(unavailable(cause)),
            onClose: () => leave(denied("draining")),
          },
        );
      });
    } finally {
      off();
      signal?.removeEventListener("abort", cancel);
    }
  }

  async counts(name: string): Promise<BulkheadCounts | undefined> {
    checkName(name);
    const number = this.#calls.next();
    return await this.#count(number, writeCounts(number, name));
  }

  async resize(name: string, limit: number): Promise<void> {
    checkName(name);
    if (!Number.isSafeInteger(limit) || limit < 1) throw badLimit(name, limit);
    const number = this.#calls.next();
    await this.#count(number, writeResize(number, limit, name));
  }

  /** Who waits is answered with `draining`. The connection closes when nothing is held any more. */
  close(): void {
    this.#closed = true;
    this.#calls.close();
  }

  /** @throws CoreError `BULKHEAD_UNAVAILABLE` */
  #count(number: number, bytes: Uint8Array): Promise<BulkheadCounts | undefined> {
    let off!: () => void;
    const answer = new Promise<BulkheadCounts | undefined>((resolve, reject) => {
      const onGone = (cause: Error) => {
        const text = `Cannot ask for bulkheads at ${this.#options.path}: ${cause.message}`;
        reject(new CoreError("BULKHEAD_UNAVAILABLE", text, { status: 503, cause }));
      };
      off = patientTimer(systemClock, this.#greetMs, () => {
        this.#calls.forget(number);
        onGone(noAnswer(this.#greetMs));
      });
      this.#calls.ask(number, bytes, {
        onAnswer: (type, payload) => {
          if (type === op.counted) resolve(readCounted(payload));
          else if (type === op.fault) reject(readFault(payload));
          else throw broken(`Expected counts, got type ${type}`);
        },
        onGone,
      });
    });
    return answer.finally(off);
  }

  #giveBack(number: number): Promise<boolean> {
    this.#calls.letGo(number);
    const answer = new Promise<boolean>((resolve) =>
      this.#calls.ask(number, writeRelease(number, true), {
        onAnswer: (type, payload) => {
          if (type === op.released) resolve(readReleased(payload));
          else throw broken(`Expected RELEASED, got type ${type}`);
        },
        // With the connection all went back.
        onGone: () => resolve(true),
      })
    );
    return inTime(systemClock, hasteMs, answer, undefined).then((known) => {
      if (known === undefined) this.#calls.forget(number);
      return known ?? true;
    });
  }

  #ownerOf(owner: object | undefined): number {
    if (owner === undefined) return 0;
    let number = this.#owners.get(owner);
    if (number === undefined) this.#owners.set(owner, number = ++this.#lastOwner);
    return number;
  }
}

function noAnswer(ms: number): CoreError {
  return broken(`Expected an answer within ${ms} ms`);
}
