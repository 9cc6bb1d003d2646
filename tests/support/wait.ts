/**
 * Waiting for a condition instead of for a time.
 *
 * @module
 */
import * as runner from "bun:test";

export interface WaitOptions {
  /** What is waited for, as the error shall say it. */
  readonly what: string;
  /** Ms after which the wait fails; 10 s when absent. */
  readonly timeout?: number;
  /** Ms between two looks; 20 when absent. */
  readonly every?: number;
}

export function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

/**
 * Lets the event loop go round: whatever is on its way within this process, or over loopback, has come then. For showing that
 * something does not happen; what is to happen is waited for.
 */
export async function turns(count = 20): Promise<void> {
  for (let i = 0; i < count; i++) await pause(0);
}

/** Looks until `look` returns something truthy, and returns that. The error tells the last thing that `look` threw. */
export async function waitFor<T>(look: () => T | Promise<T>, options: WaitOptions): Promise<NonNullable<T>> {
  const { what, timeout = 10_000, every = 20 } = options;
  const end = performance.now() + timeout;
  let last: unknown;
  for (;;) {
    try {
      const found = await look();
      if (found) return found;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (performance.now() > end) {
      throw new Error(`Waited ${timeout} ms for ${what}${last === undefined ? "" : `; last: ${String(last)}`}`);
    }
    await pause(every);
  }
}

/** Runs `work`, and fails when it takes longer than `ms`. */
export async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took longer than ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Lets every test of this file take up to `ms`. Bun gives a test 5 s otherwise; Deno has no limit, and no such function.
 */
export function allowSlowTests(ms: number): void {
  (runner as { setDefaultTimeout?: (ms: number) => void }).setDefaultTimeout?.(ms);
}
