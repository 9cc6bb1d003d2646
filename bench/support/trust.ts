/**
 * When a window can be believed: nobody else used the machine, and nothing went wrong. One that cannot is measured again.
 *
 * @module
 */
import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { type MachineTicks, machineTicks } from "./procfs.ts";
import { number } from "./options.ts";

export interface Trust {
  /** Times an untrustworthy window is measured again. */
  readonly retries: number;
  /** Above this share of the machine used by strangers, a window is not trusted. */
  readonly maxForeign: number;
  /** Seconds to wait for a quiet machine. */
  readonly patience: number;
}

/** Reads `--retries`, `--max-foreign` and `--patience`. */
export function trustOf(
  given: { readonly retries: string; readonly "max-foreign": string; readonly patience: string },
): Trust {
  return {
    retries: number("retries", given.retries, { least: 0 }),
    maxForeign: number("max-foreign", given["max-foreign"], { least: 0, whole: false }),
    patience: number("patience", given.patience, { least: 0 }),
  };
}

export interface Judged {
  /** Why the window cannot be trusted; empty when it can. */
  readonly faults: readonly string[];
}

export interface Turns {
  /** False where looking whether the machine is quiet takes longer than many a window: then only after one was spoilt. */
  readonly quietFirst?: boolean;
}

/** One window once the machine is quiet, again while it cannot be trusted and tries are left. */
export async function trusted<T extends Judged>(
  { retries, maxForeign, patience }: Trust,
  measure: () => Promise<T>,
  { quietFirst = true }: Turns = {},
): Promise<T> {
  for (let attempt = 0;; attempt++) {
    if (attempt > 0 || quietFirst) await quiet(maxForeign, patience);
    const found = await measure();
    if (found.faults.length === 0 || attempt >= retries) return found;
  }
}

/** The end of a window's line on the terminal. */
export function distrust(faults: readonly string[]): string {
  return faults.length === 0 ? "" : `  NOT TRUSTED: ${faults.join("; ")}`;
}

/** The share of the machine between two looks that those who are `known` did not use; what the hypervisor stole is in it. */
export function foreignShare(before: MachineTicks, after: MachineTicks, known: number): number {
  return Math.max(0, after.busy - before.busy - known) / Math.max(1, after.total - before.total);
}

export function foreignFault(share: number): string {
  return `others used ${(share * 100).toFixed(0)} % of ${availableParallelism()} cores`;
}

/** Waits until, for 300 ms, no more than `maxForeign` of the machine is used, but no longer than `seconds`. */
export async function quiet(maxForeign: number, seconds: number): Promise<void> {
  for (const end = performance.now() + seconds * 1000; performance.now() < end;) {
    const before = machineTicks();
    await sleep(300);
    if (foreignShare(before, machineTicks(), 0) <= maxForeign) return;
  }
}
