/**
 * What the admin listener says in JSON, as far as the page shows it.
 *
 * @module
 */

export interface Ready {
  readonly ready: boolean;
  readonly parts: Readonly<Record<string, string>>;
}

export interface Whoami {
  readonly pid: number;
  readonly executable: string;
  readonly version: string;
  readonly runtime: string;
  readonly config_hash: string;
  readonly started_at: string;
}

export interface Admission {
  readonly gates: readonly {
    readonly name: string;
    readonly waiting: readonly {
      readonly class: string;
      readonly key?: string;
      readonly weight: number;
      readonly waited_ms: number;
    }[];
    readonly not_shown: number;
  }[];
}

interface Person {
  readonly weight: number;
  readonly request?: string;
  readonly target?: string;
  readonly pid?: number;
}

export interface Bulkheads {
  readonly store: string;
  readonly bulkheads: readonly {
    readonly name: string;
    readonly limit: number;
    readonly active: number;
    readonly queued: number;
    readonly oldest_wait_ms: number;
    readonly held: readonly (Person & { readonly held_ms: number })[];
    readonly held_more: number;
    readonly waiting: readonly (Person & { readonly waited_ms: number })[];
    readonly waiting_more: number;
  }[];
}

export interface Pools {
  readonly databases: readonly { readonly name: string; readonly server: string; readonly version?: string }[];
}

export interface Queries {
  readonly databases: readonly {
    readonly name: string;
    readonly queries: readonly {
      readonly text: string;
      readonly schema: string;
      readonly count: number;
      readonly errors: number;
      /** Milliseconds, all together. */
      readonly time: number;
      readonly mean: number;
      readonly p99: number;
    }[];
  }[];
}

/** The newest answers; undefined where there was none. */
export interface Answers {
  readonly ready?: Ready | undefined;
  readonly whoami?: Whoami | undefined;
  readonly admission?: Admission | undefined;
  readonly bulkheads?: Bulkheads | undefined;
  readonly pools?: Pools | undefined;
  readonly queries?: Queries | undefined;
}
