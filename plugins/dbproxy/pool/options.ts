import type { Clock } from "../../../core/clock.ts";
import type { Gate } from "../../../core/contracts/gates.ts";
import type { CoreError } from "../../../core/error.ts";

export type { Clock };

/** What the pool must know of a backend. */
export interface Pooled {
  /** Backends of different kinds never stand in for each other. */
  readonly kind: string;
  readonly id: number;
}

/** Someone who wants a backend. Exactly one of the callbacks is called, once, unless the checkout is cancelled. Neither may throw. */
export interface CheckoutWaiter<B> {
  /**
   * Latest moment, in ms on the pool's clock; the pool's own timeouts when absent or later. Looked at only when there is a wait,
   * so it may be found out then.
   */
  readonly deadline?: number | undefined;
  /** The backend is this waiter's, until it gives it to `release` or `discard`. Called within `checkout` when one is free. */
  onBackend(backend: B, waitedMs: number): void;
  onRefuse(error: CoreError): void;
}

export interface Checkout {
  /** Gives up waiting: no callback follows. Without effect once one was called. */
  cancel(): void;
}

/**
 * Whether a failed dial is worth another: `final`: the answer will not change (access denied); `busy`: the server is there
 * and takes no connection now; `unreachable`: everything else.
 */
export type DialFailure = "final" | "busy" | "unreachable";

/** What happens in a pool, for metrics. Called synchronously; must not throw and must not call the pool. */
export interface PoolEvents {
  dialed?(ms: number): void;
  dialFailed?(error: CoreError, failure: DialFailure): void;
  closed?(reason: string): void;
  /** A backend was lent after this wait. */
  waited?(ms: number): void;
  /** A checkout was refused with this error code. */
  refused?(code: string): void;
  /** New connections are known to fail (true), or work again. */
  breaker?(open: boolean): void;
}

export interface PoolOptions<B extends Pooled, W> {
  /** One permit is one backend in use, being cleaned or sought. Its limit is `maxConnections`; nobody else uses it. */
  readonly gate: Gate;
  /** Opens a backend of this kind. When the signal aborts, nothing of the connection may be left. */
  dial(kind: string, want: W, signal: AbortSignal): Promise<B>;
  /** At release: true when the backend is clean, or a promise that says whether it has become so. */
  clean(backend: B): Promise<boolean> | true;
  /** Whether a backend that idled for a while still answers. */
  check(backend: B): Promise<boolean>;
  /** The backend left the pool; closes it. */
  close(backend: B, reason: string): void;
  /** How well a backend of the right kind suits: 0 is best, `Infinity` is never. Of equals, the last used is taken. */
  score(backend: B, want: W): number;
  /** The backend that a want should have before any other, if it suits and is idle. */
  promised?(want: W): B | undefined;
  kindOf(want: W): string;
  readonly maxConnections: number;
  /** Kept open, in the kind of `warm` or of the last want seen; 0 when absent. */
  readonly minConnections?: number;
  /** What backends that nobody has asked for yet are opened for. */
  readonly warm?: W;
  /** 300 s when absent; `Infinity` for never. */
  readonly idleTimeoutMs?: number;
  /** 30 min when absent, `Infinity` for ever; each backend lives a random 90 to 100 % of it. */
  readonly maxLifetimeMs?: number;
  /** 5 s when absent. */
  readonly connectTimeoutMs?: number;
  /**
   * Longest wait for a permit; 5 s when absent, 0 lets nobody stand in line. Whoever has his permit has at least the connect
   * timeout from then on.
   */
  readonly poolTimeoutMs?: number;
  /** Idle time from which a backend is checked before it is lent; 500 when absent. */
  readonly checkAfterMs?: number;
  /** 1 s when absent. */
  readonly checkTimeoutMs?: number;
  /** 1 s when absent. */
  readonly cleanTimeoutMs?: number;
  /** Dials a second in the long run; 50 when absent, `Infinity` for no bound. `maxConnections` may be opened at once. */
  readonly dialRate?: number;
  /** Failed dials in a row after which checkouts are refused at once; 10 when absent. */
  readonly breakerFailures?: number;
  /** How long the upstream must have been unreachable for the same; 2 s when absent. */
  readonly breakerMs?: number;
  /** By `final: true` on the error and by its code when absent. */
  readonly classify?: (error: unknown) => DialFailure;
  readonly onEvent?: PoolEvents;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
}

/** Live counts. */
export interface PoolStats {
  readonly max: number;
  readonly idle: number;
  /** Lent to sessions. */
  readonly used: number;
  readonly cleaning: number;
  readonly checking: number;
  readonly dialing: number;
  /** Checkouts that wait, in line or for a connection to open. */
  readonly waiting: number;
  /** Checkouts that need a new connection are refused at once. */
  readonly breakerOpen: boolean;
  /** Idle, used, cleaning and checking backends by kind. */
  readonly kinds: ReadonlyMap<string, number>;
}
