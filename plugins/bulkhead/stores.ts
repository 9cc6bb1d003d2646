import type { Gates } from "../../core/contracts/gates.ts";
import type { Awaitable, Log } from "../../core/plugin.ts";
import type { Clock } from "../../core/clock.ts";
import type { Limits } from "./limits.ts";
import { redisMaker, type RedisTable } from "./redis/table.ts";
import { MemoryStore } from "./memory_store.ts";
import type { BulkheadEvents, BulkheadStore } from "./store.ts";

/** What a store may be made of. */
export interface StoreParts {
  readonly gates: Gates;
  readonly limits: Limits;
  readonly events: BulkheadEvents;
  readonly log: Log;
  readonly clock: Clock;
  /** Where relative paths start. */
  readonly baseDir: string;
  /** `[bulkhead.redis]`. */
  readonly redis: RedisTable;
}

/** A store, and what it does with the server's life. */
export interface MadeStore {
  readonly store: BulkheadStore;
  /** Connects or binds. A failure stops the start. */
  listen?(): Awaitable<void>;
  /** Why it is not ready, if it is not. */
  check?(): string | undefined;
}

/** Makes a store; must not connect or bind, which is for `listen`. */
export type StoreMaker = (parts: StoreParts) => MadeStore;

/** The stores there are, by their name in `[bulkhead] store`. */
export const makers: Readonly<Record<string, StoreMaker>> = {
  memory: inMemory("memory"),
  // The same, with the socket that the plugin opens before it.
  local: inMemory("local"),
  redis: (parts) => redisMaker(parts.redis)(parts),
};

function inMemory(kind: string): StoreMaker {
  return ({ gates, limits, events, log, clock }) => {
    const onError = (error: unknown) => log("error", "A listener for lost permits failed", { error });
    return { store: new MemoryStore({ gates, limits, events, clock, onError }, kind) };
  };
}
