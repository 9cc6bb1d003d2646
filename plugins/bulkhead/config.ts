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

/** One `[[bulkhead.statements]]`. Times in ms. */
export interface StatementTable extends TermsTable {
  readonly db?: string | undefined;
  readonly user?: readonly string[] | undefined;
  readonly schema?: readonly string[] | undefined;
  readonly digest?: readonly string[] | undefined;
  readonly text?: readonly string[] | undefined;
  readonly name: string;
  readonly max_concurrent?: number | undefined;
  readonly key: "none" | "user" | "schema" | "digest";
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
  readonly statements: readonly StatementTable[];
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

const digest = z.string().regex(/^[0-9a-f]{16}$/);
const digests = z.union([digest.transform((one) => [one]), z.array(digest).min(1)], {
  error: "expected the 16 hexadecimal digits of a digest, as `fairlead db top` shows it, or several of them",
});

const statement = z.strictObject({
  db: z.string().min(1).optional().describe(
    "The database, by its name: `mysql` for [db.mysql], `shop` for [db.mysql.shop].",
  ),
  user: patterns.optional().describe("Users, as clients of the proxy name themselves."),
  schema: patterns.optional().describe("Default schemas of sessions."),
  digest: digests.optional().describe(
    "Digests, as `fairlead db top`, `/-/db/queries` and the log of slow queries show them.",
  ),
  text: patterns.optional().describe(
    'Normalized texts, as `/-/db/queries` shows them; `%` stands for anything, or nothing: "SELECT % FROM `orders`%".',
  ),
  name: name.describe("The bulkhead; whatever names the same shares its permits."),
  max_concurrent: z.int().min(1).optional().describe(
    "Statements there may be at a time; that of [bulkhead.limits.NAME] when absent.",
  ),
  key: z.enum(["none", "user", "schema", "digest"]).default("none").describe(
    "What gets a bulkhead of its own: each user, default schema or digest.",
  ),
  within: name.optional().describe(
    "A bulkhead of [bulkhead.limits] whose permits these take, too: the cap of all keys together, at which they take turns.",
  ),
  ...terms,
}).refine(
  (one) =>
    one.key !== "none" || [one.db, one.user, one.schema, one.digest, one.text].some((rule) => rule !== undefined),
  {
    error: "expected db, user, schema, digest or text, or a key",
  },
).refine((one) => one.within !== one.name, { error: "expected within to name another bulkhead than name" });

/** What no store could make work, or nobody could mean. */
function clashes({ routes, statements }: BulkheadTable, ctx: z.core.$RefinementCtx): void {
  const ofRoutes = new Set(routes.flatMap((one) => [one.name, one.within]));
  const limits = new Map<string, number>();
  for (const [i, one] of statements.entries()) {
    for (const key of ["name", "within"] as const) {
      if (one[key] === undefined || !ofRoutes.has(one[key])) continue;
      // A request holds that of its route while its script waits for this.
      const message = "expected a bulkhead that no route takes: a request would wait for permits that it holds itself";
      ctx.addIssue({ code: "custom", path: ["statements", i, key], message });
    }
    const { max_concurrent: limit } = one;
    if (limit === undefined) continue;
    const before = limits.get(one.name) ?? limit;
    limits.set(one.name, before);
    if (before === limit) continue;
    const message = `expected ${before}, as in an entry before it with the same name: they share their permits`;
    ctx.addIssue({ code: "custom", path: ["statements", i, "max_concurrent"], message });
  }
}

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
  statements: z.array(statement).default([]).describe(
    "Statements of the database proxy ([db.mysql]) that are capped; the first entry that matches counts.",
  ),
}).superRefine(clashes);

/** Terms as the code has them. */
export function termsOf(name: string, table: LimitTable | RouteTable | StatementTable): Terms {
  const { max_concurrent: maxConcurrent, lease, max_wait: maxWait, max_queue: maxQueue } = table;
  return checkTerms(name, { maxConcurrent, lease, maxWait, maxQueue });
}
