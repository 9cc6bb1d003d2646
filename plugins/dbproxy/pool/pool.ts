import type { Checkout, CheckoutWaiter, Pooled, PoolOptions, PoolStats } from "./options.ts";

export class Pool<B extends Pooled, W> {
  constructor(_options: PoolOptions<B, W>) {
  }

  /** Lends a backend, now or later. */
  checkout(_want: W, _who: CheckoutWaiter<B>): Checkout {
    throw new Error("Not yet");
  }

  /** The session is over and the backend may serve another. */
  release(_backend: B): void {
  }

  /** The backend must not be used again. */
  discard(_backend: B, _reason: string): void {
  }

  /** A backend died while nobody used it. */
  lost(_backend: B, _reason: string): void {
  }

  /** Refuses newcomers, serves those who wait; resolves when every backend has come back and is closed. */
  drain(): Promise<void> {
    return Promise.resolve();
  }

  /** Refuses everybody and closes what is idle now, the rest when it comes back. */
  close(): void {
  }

  stats(): PoolStats {
    throw new Error("Not yet");
  }
}
