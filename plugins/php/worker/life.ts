import type { WorkerRestart } from "./restarts.ts";

/** When a worker that works well is replaced. */
export interface LifeRules {
  /** Requests a worker answers before it is replaced; 0 or absent: any number. */
  readonly maxRequests?: number;
  /**
   * Which part of `maxRequests` and `ttl` is left to chance: 0.1 when absent. A worker becomes due between two and one
   * such parts before `maxRequests`, and goes on until its successor is up, but never past `maxRequests`.
   */
  readonly jitter?: number;
  /** Age (ms) at which a worker is replaced. */
  readonly ttl?: number;
  /** A worker that has not been used for so long (ms) is replaced, unless it never was: its connections may be stale. */
  readonly idleTtl?: number;
  /** Resident bytes over which a worker is replaced, looked at between requests. */
  readonly maxMemory?: number;
  /** Most often (ms) that memory is looked at between requests; 1 s when absent. */
  readonly memoryEvery?: number;
}

/** What a life knows of its worker. */
export interface LifeFacts {
  /** When it was ready first. */
  readonly readyAt: number;
  /** How long it took to boot. */
  readonly bootMs: number;
  /** Requests it was sent. */
  readonly requests: number;
  /** Since when it is idle. */
  readonly idleSince: number;
}

/** The length of one worker's life. */
export class Life {
  readonly #rules: LifeRules;
  /** From this request on it is due. */
  readonly #soft: number;
  /** It never gets more requests than this. */
  readonly hard: number;
  readonly #ttl: number;
  #memoryAt = 0;

  /**
   * @param share 1, or less for the first workers of a pool: they start together and must not be due together
   * @param chance from 0 to below 1
   */
  constructor(rules: LifeRules, share: number, chance: number) {
    this.#rules = rules;
    const { maxRequests: most = 0, ttl = 0, jitter = 0.1 } = rules;
    const part = share * (1 - jitter * chance);
    // As much again is left for the time that a successor takes to boot.
    this.#soft = most > 0 ? Math.max(1, Math.ceil(most * (part - share * jitter))) : Infinity;
    this.hard = most > 0 ? most : Infinity;
    this.#ttl = ttl > 0 ? ttl * part : Infinity;
  }

  /**
   * Whether its successor should be booted before it takes one more request: the soft limit comes closer than a boot takes
   * at this worker's pace.
   */
  nearsEnd(facts: LifeFacts, now: number): boolean {
    const next = facts.requests + 1;
    if (next < this.#soft * 0.75) return false;
    const pace = facts.requests / Math.max(1, now - facts.readyAt);
    return next + pace * facts.bootMs >= this.#soft;
  }

  /** Why an idle worker is due; undefined when it is not. */
  due(facts: LifeFacts, now: number, memory: () => number | undefined): WorkerRestart | undefined {
    if (now >= facts.readyAt + this.#ttl) return "ttl";
    if (now >= this.#staleAt(facts)) return "idle";
    const { maxMemory = 0, memoryEvery = 1000 } = this.#rules;
    if (maxMemory === 0 || facts.requests === 0 || now < this.#memoryAt) return undefined;
    this.#memoryAt = now + memoryEvery;
    return (memory() ?? 0) > maxMemory ? "memory" : undefined;
  }

  /** When an idle worker becomes due by time alone. */
  dueAt(facts: LifeFacts): number {
    return Math.min(facts.readyAt + this.#ttl, this.#staleAt(facts));
  }

  #staleAt(facts: LifeFacts): number {
    const { idleTtl = 0 } = this.#rules;
    return idleTtl > 0 && facts.requests > 0 ? facts.idleSince + idleTtl : Infinity;
  }
}
