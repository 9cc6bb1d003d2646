import { classify } from "./errors.ts";
import type { DialFailure, Pooled, PoolOptions } from "./options.ts";

/** The options with everything that was left out. */
export interface PoolSettings {
  readonly max: number;
  readonly min: number;
  readonly idleTimeoutMs: number;
  readonly maxLifetimeMs: number;
  readonly connectTimeoutMs: number;
  readonly poolTimeoutMs: number;
  readonly checkAfterMs: number;
  readonly checkTimeoutMs: number;
  readonly cleanTimeoutMs: number;
  readonly dialRate: number;
  readonly breakerFailures: number;
  readonly breakerMs: number;
  readonly classify: (error: unknown) => DialFailure;
}

export function settingsOf<B extends Pooled, W>(options: PoolOptions<B, W>): PoolSettings {
  return {
    max: options.maxConnections,
    min: Math.min(options.minConnections ?? 0, options.maxConnections),
    idleTimeoutMs: options.idleTimeoutMs ?? 300_000,
    maxLifetimeMs: options.maxLifetimeMs ?? 1_800_000,
    connectTimeoutMs: options.connectTimeoutMs ?? 5_000,
    poolTimeoutMs: options.poolTimeoutMs ?? 5_000,
    checkAfterMs: options.checkAfterMs ?? 500,
    checkTimeoutMs: options.checkTimeoutMs ?? 1_000,
    cleanTimeoutMs: options.cleanTimeoutMs ?? 1_000,
    dialRate: options.dialRate ?? 50,
    breakerFailures: options.breakerFailures ?? 10,
    breakerMs: options.breakerMs ?? 2_000,
    classify: options.classify ?? classify,
  };
}
