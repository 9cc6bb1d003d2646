import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { StoredHash } from "./crypt/stored_hash.ts";
import { Remembered } from "./remembered.ts";

/** Ms of work at a time, and of rest after: a flood of wrong passwords gets half of a core at most, and nobody waits for long. */
const workMs = 2, restMs = 2;
/** Passwords that wait to be checked, of everybody and of one client: the last of them waits for some seconds at the usual cost. */
const maxWaiting = 16, maxOfClient = 4;
/** For how long (ms) a password that was right, or wrong, is so without being checked again; and how many are known. */
const rightMs = 60_000, wrongMs = 10_000, maxKnown = 1000;

export type Verdict = "right" | "wrong" | "busy";

export interface PasswordCheckOptions {
  /** Ms, monotonic. */
  readonly now?: () => number;
  readonly rest?: (ms: number) => Promise<unknown>;
}

/**
 * Checks passwords against costly hashes, one at a time, in small pieces of work. A page of a hundred files is one check: what was found
 * is remembered for a short time, under a digest keyed by a random key, so that no password stays in memory. The stored hash is part of
 * it: who gets a new one has to say his new password at once.
 */
export class PasswordCheck {
  readonly #key = randomBytes(32);
  readonly #now: () => number;
  readonly #rest: (ms: number) => Promise<unknown>;
  readonly #right: Remembered;
  readonly #wrong: Remembered;
  readonly #running = new Map<string, Promise<Verdict>>();
  readonly #ofClient = new Map<string, number>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: PasswordCheckOptions = {}) {
    this.#now = options.now ?? (() => performance.now());
    this.#rest = options.rest ?? ((ms) => new Promise((resolve) => setTimeout(resolve, ms)));
    this.#right = new Remembered(rightMs, maxKnown, this.#now);
    this.#wrong = new Remembered(wrongMs, maxKnown, this.#now);
  }

  /** @param client whose share of the waiting places it takes */
  check(stored: StoredHash, password: Uint8Array, client: string): Verdict | Promise<Verdict> {
    if (!stored.costly) return same(stored.hash(password).next().value ?? "", stored.text) ? "right" : "wrong";
    const digest = createHmac("sha256", this.#key).update(`${stored.text}\0`).update(password).digest("base64");
    if (this.#right.has(digest)) return "right";
    if (this.#wrong.has(digest)) return "wrong";
    const running = this.#running.get(digest);
    if (running !== undefined) return running;
    const others = this.#ofClient.get(client) ?? 0;
    if (this.#running.size >= maxWaiting || others >= maxOfClient) return "busy";
    this.#ofClient.set(client, others + 1);
    const verdict = this.#turn.then(() => this.#hash(stored, password)).then((right): Verdict => {
      (right ? this.#right : this.#wrong).add(digest);
      return right ? "right" : "wrong";
    }).finally(() => {
      this.#running.delete(digest);
      const left = this.#ofClient.get(client)! - 1;
      if (left === 0) this.#ofClient.delete(client);
      else this.#ofClient.set(client, left);
    });
    this.#running.set(digest, verdict);
    this.#turn = verdict.catch(() => {});
    return verdict;
  }

  async #hash(stored: StoredHash, password: Uint8Array): Promise<boolean> {
    const steps = stored.hash(password);
    let until = this.#now() + workMs;
    while (true) {
      const { done, value } = steps.next();
      if (done) return same(value, stored.text);
      if (this.#now() < until) continue;
      await this.#rest(restMs);
      until = this.#now() + workMs;
    }
  }
}

function same(one: string, other: string): boolean {
  const a = new TextEncoder().encode(one), b = new TextEncoder().encode(other);
  return a.length === b.length && timingSafeEqual(a, b);
}
