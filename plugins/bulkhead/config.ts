import * as z from "zod";
import { duration } from "../../core/config/units.ts";
import { type RedisTable, redisTable } from "./redis/table.ts";
import { checkTerms, type Terms } from "./limits.ts";
import { makers } from "./stores.ts";

interface TermsTable {
  readonly lease?: number | undefined;
  readonly max_wait?: number | undefined;
  readonly max_queue?: number | undefined;
}

/** One `[bulkhead.limits.NAME]`. Times in ms. */
export interface LimitTable extends TermsTable {
  readonly max_concurrent: number;
}

/** One `[[bulkhead.routes]]`. Times in ms. */
export interface RouteTable extends TermsTable {
  readonly path?: readonly string[] | undefined;
  readonly host?: readonly string[] | undefined;
  readonly method?: readonly string[] | undefined;
  readonly name: string;
  readonly max_concurrent?: number | undefined;
  readonly key: string;
  readonly within?: string | undefined;
}

/** The `[bulkhead]` table. */
export interface BulkheadTable {
  readonly store: string;
  readonly socket?: string | undefined;
  readonly socket_group?: string | undefined;
  readonly redis: RedisTable;
  readonly limits: Readonly<Record<string, LimitTable>>;
  readonly routes: readonly RouteTable[];
}

const name = z.string().regex(/^[A-Za-z0-9_.:-]{1,128}$/, "expected 1 to 128 of A-Z a-z 0-9 _ . : -");

const terms = {
  max_wait: duration().optional().describe("Longest wait for a permit; 0, and when absent: now or never."),
  max_queue: z.int().min(0).optional().describe("Most callers in line; no bound when absent."),
  lease: duration().optional().refine((ms) => ms !== 0, "expected a duration of more than 0")
    .describe("How long a holder that is heard of no more keeps its permits; 5s when absent."),
};

const limit = z.strictObject({
  max_concurrent: z.int().min(1).describe("Calls there may be at a time. Callers may ask for less, never for more."),
  ...terms,
});

/** One pattern, or several of which one must match. */
const patterns = z.union([z.string().min(1).transform((one) => [one]), z.array(z.string().min(1)).min(1)]);

const route = z.strictObject({
  path: patterns.optional().describe('Paths, such as "/export/**".'),
  host: patterns.optional().describe("Host names without a port; `*` stands for anything."),
  method: patterns.optional().describe("Request methods."),
  name: name.describe("The bulkhead; routes, plugins and scripts that name the same share its permits."),
  max_concurrent: z.int().min(1).optional().describe(
    "Requests there may be at a time, waits for PHP included; that of [bulkhead.limits.NAME] when absent.",
  ),
  key: z.string().regex(/^(?:none|client|host|route|(?:header|cookie):[!#$%&'*+.^_`|~0-9A-Za-z-]+)$/, {
    error: "expected none, client, host, route, header:NAME or cookie:NAME",
  }).default("none").describe(
    "What gets a bulkhead of its own: each client address, host, path, or value of a header or a cookie.",
  ),
  within: name.optional().describe(
    "A bulkhead of [bulkhead.limits] whose permits these take, too: the cap of all keys together, at which they take turns.",
  ),
  ...terms,
}).refine((one) => one.path !== undefined || one.host !== undefined || one.method !== undefined, {
  error: "expected path, host or method",
}).refine((one) => one.within !== one.name, { error: "expected within to name another bulkhead than name" });

/** The schema of the `[bulkhead]` table. */
export const bulkheadTable: z.ZodType<BulkheadTable> = z.strictObject({
  store: z.enum(Object.keys(makers) as [string, ...string[]]).default("memory").describe(
    "Who keeps the permits: memory is this process, local the same for scripts and others on this machine, too; redis is for the " +
      "scripts and servers of several hosts.",
  ),
  socket: z.string().min(1).refine((path) => new TextEncoder().encode(path).length <= 103, {
    error: "expected a path of at most 103 bytes",
  }).optional().describe(
    "Where others on this machine reach the bulkheads; scripts find it in FAIRLEAD_BULKHEAD_SOCKET. In a private folder when " +
      "absent and store is not memory.",
  ),
  socket_group: z.string().min(1).optional().describe(
    "Who may use the socket besides the server's user; www-data when absent and the server is root.",
  ),
  redis: z.preprocess((own) => own ?? {}, redisTable).describe('Where Redis or Valkey is, for store = "redis".'),
  limits: z.record(name, limit).default({}).describe("Bulkheads that the host knows, by name."),
  routes: z.array(route).default([]).describe("Requests that are capped; the first entry that matches counts."),
});

/** Terms as the code has them. */
export function termsOf(name: string, table: LimitTable | RouteTable): Terms {
  const { max_concurrent: maxConcurrent, lease, max_wait: maxWait, max_queue: maxQueue } = table;
  return checkTerms(name, { maxConcurrent, lease, maxWait, maxQueue });
}
