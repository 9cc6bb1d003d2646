import { systemClock } from "../../../core/clock.ts";
import { CoreError } from "../../../core/error.ts";
import { badLimit } from "../errors.ts";
import { inTime, patientTimer } from "../in_time.ts";
import { checkName } from "../name.ts";
import type { BulkheadAnswer, BulkheadAsk, BulkheadCounts, BulkheadDenialReason, BulkheadStore } from "../store.ts";
import { readCounted, readDeny, readFault, readGrant, readReleased } from "./answers.ts";
import { writeAcquire, writeCounts, writeRelease, writeResize } from "./asks.ts";
import { checkAsk } from "./check_ask.ts";
import { ClientConnection } from "./connection.ts";
import { bare, broken, expectLength, op } from "./frame.ts";
import type { Payload } from "./frame_reader.ts";
import { RemoteGrant } from "./remote_grant.ts";
import { throwLater } from "../throw_later.ts";

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

interface Asked {
  onAnswer(type: number, payload: Payload): void;
  onGone(cause: Error): void;
  /** The store takes nobody any more. */
  onClose?(): void;
}

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
  readonly #asked = new Map<number, Asked>();
  /** Numbers whose answers come to nobody: what is granted goes back. */
  readonly #forgotten = new Set<number>();
  readonly #held = new Map<number, RemoteGrant>();
  readonly #owners = new WeakMap<object, number>();
  #connection: ClientConnection | undefined;
  #number = 0;
  /** 0 and 1 mean nobody and the connection. */
  #lastOwner = 1;
  #closed = false;

  constructor(options: LocalStoreOptions) {
    this.#options = options;
    this.#greetMs = options.greetMs ?? 2000;
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
    const number = this.#next();
    let off = () => {};
    let cancel = () => {};
    try {
      return await new Promise<BulkheadAnswer>((resolve, reject) => {
        /** Without the server, which may be slow, or stopped. */
        const leave = (answer: BulkheadAnswer) => {
          this.#forget(number);
          this.#connection?.write(bare(op.cancel, number));
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
        this.#send(number, writeAcquire(number, { ...ask, maxQueue: ask.maxQueue, owner: this.#ownerOf(ask.owner) }), {
          onAnswer: (type, payload) => {
            if (type === op.grant) {
              const grant = new RemoteGrant(name, weight, readGrant(payload), () => this.#giveBack(number));
              this.#held.set(number, grant);
              resolve(grant);
            } else if (type === op.deny) resolve({ granted: false, ...readDeny(payload) });
            else if (type === op.fault) reject(readFault(payload));
            else throw broken(`Expected an answer to an acquire, got type ${type}`);
          },
          onGone: (cause) => resolve(unavailable(cause)),
          onClose: () => leave(denied("draining")),
        });
      });
    } finally {
      off();
      signal?.removeEventListener("abort", cancel);
    }
  }

  async counts(name: string): Promise<BulkheadCounts | undefined> {
    checkName(name);
    const number = this.#next();
    return await this.#count(number, writeCounts(number, name));
  }

  async resize(name: string, limit: number): Promise<void> {
    checkName(name);
    if (!Number.isSafeInteger(limit) || limit < 1) throw badLimit(name, limit);
    const number = this.#next();
    await this.#count(number, writeResize(number, limit, name));
  }

  /** Who waits is answered with `draining`. The connection closes when nothing is held any more. */
  close(): void {
    this.#closed = true;
    for (const asked of [...this.#asked.values()]) asked.onClose?.();
    this.#settle();
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
        this.#forget(number);
        onGone(noAnswer(this.#greetMs));
      });
      this.#send(number, bytes, {
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

  #send(number: number, bytes: Uint8Array, asked: Asked): void {
    this.#asked.set(number, asked);
    const connection = this.#connection ??= this.#connect();
    connection.write(bytes);
    connection.hold(true);
  }

  #connect(): ClientConnection {
    return new ClientConnection(this.#options.path, this.#greetMs, {
      onAnswer: (type, number, payload) => this.#answered(type, number, payload),
      onClose: (cause) => this.#gone(cause),
    });
  }

  #answered(type: number, number: number, payload: Payload): void {
    if (type === op.lost) {
      expectLength("LOST", payload, 0);
      const grant = this.#held.get(number);
      this.#held.delete(number);
      grant?.lose(this.#options.onError ?? throwLater);
    } else if (this.#forgotten.delete(number)) {
      if (type === op.grant) this.#connection?.write(writeRelease(number, false));
    } else {
      const asked = this.#asked.get(number);
      if (asked === undefined) throw broken(`Expected an answer to what was asked, got number ${number}`);
      this.#asked.delete(number);
      try {
        asked.onAnswer(type, payload);
      } catch (error) {
        this.#asked.set(number, asked);
        throw error;
      }
    }
    this.#settle();
  }

  #giveBack(number: number): Promise<boolean> {
    this.#held.delete(number);
    const answer = new Promise<boolean>((resolve) =>
      this.#send(number, writeRelease(number, true), {
        onAnswer: (type, payload) => {
          if (type === op.released) resolve(readReleased(payload));
          else throw broken(`Expected RELEASED, got type ${type}`);
        },
        // With the connection all went back.
        onGone: () => resolve(true),
      })
    );
    return inTime(systemClock, hasteMs, answer, undefined).then((known) => {
      if (known === undefined) this.#forget(number);
      return known ?? true;
    });
  }

  /** Nobody waits for the answer to `number` any more. */
  #forget(number: number): void {
    if (this.#asked.delete(number)) this.#forgotten.add(number);
    this.#settle();
  }

  #gone(cause: Error): void {
    this.#connection = undefined;
    const asked = [...this.#asked.values()], held = [...this.#held.values()];
    this.#asked.clear();
    this.#forgotten.clear();
    this.#held.clear();
    for (const grant of held) grant.lose(this.#options.onError ?? throwLater);
    for (const one of asked) one.onGone(cause);
  }

  /** A connection that nothing needs keeps no process alive, nor a closed store open. */
  #settle(): void {
    if (this.#asked.size > 0 || this.#held.size > 0) return;
    this.#connection?.hold(false);
    // After the releases that have been written.
    if (this.#closed) queueMicrotask(() => this.#connection?.end());
  }

  #next(): number {
    do this.#number = this.#number % 0xffff_ffff + 1; while (
      this.#asked.has(this.#number) || this.#forgotten.has(this.#number) || this.#held.has(this.#number)
    );
    return this.#number;
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
