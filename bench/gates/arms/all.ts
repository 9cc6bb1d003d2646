/**
 * All arms by name. Each is loaded when it is asked for, so that a process has in it what it measures and nothing else.
 *
 * @module
 */
import type { MakeArm } from "./arm.ts";

export const ARMS: Readonly<Record<string, () => Promise<MakeArm>>> = {
  "FairGate, callbacks": async () => (await import("./fair_gate.ts")).callbacks,
  "FairGate, callbacks, a clock that stands": async () => (await import("./fair_gate.ts")).stillClock,
  "FairGate, tryAcquire": async () => (await import("./fair_gate.ts")).tryAcquire,
  "FairGate, promises": async () => (await import("./fair_gate.ts")).promises,
  "ClassedGate, one class": async () => (await import("./classed_gate.ts")).oneClass,
  "ClassedGate, four classes": async () => (await import("./classed_gate.ts")).fourClasses,
  "ClassedGate, 10,000 keys": async () => (await import("./classed_gate.ts")).manyKeys,
  "async-mutex": async () => (await import("./async_mutex.ts")).asyncMutex,
  "cockatiel": async () => (await import("./cockatiel.ts")).cockatiel,
  "p-limit": async () => (await import("./p_limit.ts")).pLimit,
  "p-queue": async () => (await import("./p_queue.ts")).pQueue,
  "the clock, twice": async () => (await import("./clock.ts")).clock,
};
