import * as z from "zod";
import { duration } from "../../../core/config/units.ts";
import type { MadeStore, StoreMaker } from "../stores.ts";
import { dialRedis } from "./dial.ts";
import type { OutagePolicy } from "./host.ts";
import { defaultPrefix } from "./keys.ts";
import { RedisStore } from "./redis_store.ts";

/** The `[bulkhead.redis]` table. Times in ms. */
export interface RedisTable {
  readonly url: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly prefix: string;
  readonly outage: OutagePolicy;
  readonly grace: number;
  readonly hosts: number;
  readonly tick: number;
  readonly connect_timeout: number;
  readonly command_timeout: number;
}

/** The schema of the `[bulkhead.redis]` table. */
export const redisTable: z.ZodType<RedisTable> = z.strictObject({
  url: z.string().regex(/^(?:rediss?:\/\/|unix:\/)/, "expected redis://..., rediss://... or unix:/path")
    .default("redis://127.0.0.1:6379").describe("Redis 7 or Valkey: redis://, rediss:// (TLS) or unix:/path."),
  username: z.string().min(1).optional().describe("User of Redis, where the url names none."),
  password: z.string().min(1).optional().describe("Its password."),
  prefix: z.string().regex(/^[A-Za-z0-9_.:/-]{1,64}$/, "expected 1 to 64 of A-Z a-z 0-9 _ . : / -").default(
    defaultPrefix,
  )
    .describe("How all keys and channels begin; hosts with the same share their permits."),
  outage: z.enum(["closed", "open", "degraded"]).default("closed").describe(
    "While Redis is away: deny everybody, let everybody in, or let in this host's share of the limit.",
  ),
  grace: duration("500ms").describe("How long Redis may be away before that."),
  hosts: z.int().min(1).default(1).describe("Hosts that there are at least, for the shares of `degraded`."),
  tick: duration("1s").describe("Longest time between two looks at who waits: what a lost message costs."),
  connect_timeout: duration("2s").describe("Longest time to connect."),
  command_timeout: duration("2s").describe("Without any answer for so long, it connects again."),
});

/** Makes the store of a `[bulkhead.redis]` table. */
export function redisMaker(table: RedisTable): StoreMaker {
  return ({ limits, events, log, clock }): MadeStore => {
    const { url, username, password, connect_timeout: connectTimeout, command_timeout: commandTimeout, ...rest } =
      table;
    const store = new RedisStore({
      dial: dialRedis({ url, username, password, connectTimeout }),
      commandTimeout,
      ...rest,
      limits,
      events,
      log,
      clock,
      onError: (error) => log("error", "A listener for lost permits failed, or Redis refused a command", { error }),
    });
    return {
      store,
      // A Redis that is away does not keep the server from starting: the policy says what is done.
      listen: () => store.start(),
      check: () => store.problem,
    };
  };
}
