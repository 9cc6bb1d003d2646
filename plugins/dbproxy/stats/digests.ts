/** One statement that has ended. */
export interface Sample {
  /** Of the normalised text; equal texts have equal hashes. */
  readonly hash: string;
  /** The normalised text; asked for once for each new digest. */
  readonly text: () => string;
  /** The session's default schema; empty when it has none. */
  readonly schema: string;
  readonly ms: number;
  /** Sent or changed. */
  readonly rows: number;
  /** Of the reply. */
  readonly bytes: number;
  readonly error: boolean;
  /** Of the HTTP request that asked, when known. */
  readonly requestId?: string | undefined;
}

/** What is known of one digest. Quantiles are estimates: at most a factor of two too high, never above `max`. */
export interface DigestRow {
  readonly hash: string;
  readonly text: string;
  readonly schema: string;
  readonly count: number;
  readonly errors: number;
  readonly rows: number;
  readonly bytes: number;
  /** Times in ms. */
  readonly time: number;
  readonly mean: number;
  readonly max: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  /** Milliseconds since the epoch. */
  readonly firstSeen: number;
  readonly lastSeen: number;
  /** The HTTP request of the slowest statement, when known. */
  readonly slowestRequest: string | undefined;
}

export const digestOrders = ["time", "count", "errors", "rows", "mean", "max"] as const;
export type DigestOrder = typeof digestOrders[number];

export interface DigestOptions {
  /** Digests kept apart; what is pushed out is counted as `(other)`. */
  readonly capacity: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

export class DigestTable {
  constructor(_options: DigestOptions) {}
  record(_sample: Sample): void {}
  top(_options: { readonly by: DigestOrder; readonly limit: number }): DigestRow[] {
    return [];
  }
  /** The sum over every digest, those pushed out included. */
  total(): DigestRow | undefined {
    return undefined;
  }
  /** Digests held. */
  get size(): number {
    return 0;
  }
  /** Milliseconds since the epoch: when counting began. */
  get since(): number {
    return 0;
  }
  reset(): void {}
}
