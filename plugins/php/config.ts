import * as z from "zod";
import { duration, size } from "../../core/config/units.ts";
import type { FrontController } from "./resolve.ts";
import type { Scheduling } from "./scheduling.ts";

const ini = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));

/** What one pool of PHP processes is like. Times in ms, memory in bytes. */
export interface PoolSettings {
  readonly engine: "auto" | "fpm" | "worker" | "embed";
  readonly concurrency: number;
  readonly max_concurrency: number;
  readonly binary?: string | undefined;
  readonly fastcgi?: string | undefined;
  readonly ini: Readonly<Record<string, string | number | boolean>>;
  readonly env: Readonly<Record<string, string>>;
  readonly clear_env: boolean;
  readonly catch_output: boolean;
  readonly max_requests: number;
  readonly user?: string | undefined;
  readonly group?: string | undefined;
  readonly scheduling: Scheduling;
  readonly index: string;
  readonly front_controller: FrontController;
  readonly follow: readonly string[];
  readonly allow?: readonly string[] | undefined;
  readonly deny: readonly string[];
  readonly script?: string | undefined;
  readonly root?: string | undefined;
  readonly protocol: "auto" | "native" | "goridge" | "frankenphp";
  readonly isolation: "none" | "fork";
  readonly boot_timeout: number;
  readonly max_memory: number;
  readonly hard_memory: number;
  readonly ttl: number;
  readonly idle_ttl: number;
  readonly timeout: number;
  readonly watch: readonly string[];
}

/** Which requests a named pool takes; both when both are given. */
export interface PoolMatch {
  readonly host?: readonly string[] | undefined;
  readonly path?: readonly string[] | undefined;
}

/** One `[php.pools.NAME]`. What it does not say of these is as in `[php]`. */
export interface NamedPoolSettings extends Omit<PoolSettings, Inherited>, Partial<Pick<PoolSettings, Inherited>> {
  readonly match: PoolMatch;
}

type Inherited =
  | "binary"
  | "clear_env"
  | "user"
  | "group"
  | "scheduling"
  | "index"
  | "front_controller"
  | "follow"
  | "root";

/** The `[php]` table. */
export interface PhpSettings extends PoolSettings {
  readonly pools: Readonly<Record<string, NamedPoolSettings>>;
}

const script = z.union([z.string().startsWith("/"), z.literal(false)]);
const prefix = z.string().regex(/^\/(?:.*\/)?$/s, 'expected a path that begins and ends with /, such as "/blog/"');

const inherited = {
  clear_env: z.boolean().describe(
    "Hide the server's own environment from PHP, as php-fpm does; false suits containers. FAIRLEAD_* are always hidden.",
  ),
  scheduling: z.enum(["normal", "batch"]).describe(
    "batch: a PHP process that is given something to do does not push aside who runs (SCHED_BATCH of Linux), which is worth up to a " +
      "fifth of the throughput where scripts take less than a tenth of a millisecond, and nothing or less where they take longer.",
  ),
  index: z.string().describe("Script that answers for a folder."),
  front_controller: z.union([script, z.record(prefix, script)]).describe(
    "Script that answers every path that is no file; false for none. With workers, the name it goes by in $_SERVER. " +
      'Several applications: a table by prefix, such as { "/" = false, "/blog/" = "/blog/index.php" }; the longest counts.',
  ),
  follow: z.array(z.string().min(1)).describe(
    "Folders outside the public root that symbolic links in it may lead into: scripts run from there, too.",
  ),
};

const own = {
  engine: z.enum(["auto", "fpm", "worker", "embed"]).default("auto").describe(
    "fpm runs each request anew; worker boots a script once; embed has PHP from the npm package @platformatic/php-node. auto: worker " +
      "where script is set, else fpm, or embed where there is no php-fpm and the package is installed.",
  ),
  concurrency: z.int().min(0).max(10_000).default(0)
    .describe("PHP processes, and so requests at once; 0 decides by CPUs and memory."),
  max_concurrency: z.int().min(0).max(10_000).default(0)
    .describe("Workers there may be while requests have to wait; 0: no more than concurrency."),
  binary: z.string().optional().describe("PHP to start: php-fpm, or php or php-cgi for workers; found when absent."),
  fastcgi: z.string().optional()
    .describe('Use a php-fpm that runs already: "unix:/PATH" or "HOST:PORT". concurrency must be its pm.max_children.'),
  ini: ini.default({}).describe('php.ini settings, such as { memory_limit = "256M" }. A named pool adds to [php].'),
  env: z.record(z.string(), z.string()).default({}).describe(
    "Environment variables PHP sees besides the server's own. A named pool adds to [php].",
  ),
  catch_output: z.boolean().default(false)
    .describe("Log what scripts write to php://stderr, for about 30 us a request; error_log() is logged without."),
  max_requests: z.int().min(0).default(0).describe("Replace a PHP process after this many requests; 0 never does."),
  user: z.string().optional().describe("User PHP runs as when the server runs as root; www-data when absent."),
  group: z.string().optional().describe("Group PHP runs as when the server runs as root."),
  allow: z.array(z.string()).optional().describe(
    'The only scripts a URL may name, such as ["/index.php", "/wp-*.php"].',
  ),
  deny: z.array(z.string()).default([]).describe('Scripts that no URL may run, such as ["/uploads/**"].'),
  script: z.string().optional().describe("The worker script, which boots the application and asks for requests."),
  root: z.string().optional().describe(
    "The application's root, where workers start; the folder of the configuration when absent.",
  ),
  protocol: z.enum(["auto", "native", "goridge", "frankenphp"]).default("auto")
    .describe("What the worker script speaks; auto finds out from its text."),
  isolation: z.enum(["none", "fork"]).default("none")
    .describe("fork answers each request in a fork of the booted process, so that no state is left; needs pcntl."),
  boot_timeout: duration("30s").describe("How long a worker may take from its start to its first request."),
  max_memory: size(0).describe(
    "Replace a worker whose resident memory is over this, between requests and while idle; 0: none.",
  ),
  hard_memory: size(0).describe("End a worker whose resident memory is over this, whatever it does; 0: none."),
  ttl: duration(0).describe("Replace a worker of this age; 0 never does."),
  idle_ttl: duration(0).describe("Replace a worker that has not been used for so long; 0 never does."),
  timeout: duration(0).describe(
    "How long a request of this pool may take from its arrival, its body and the wait included; 0: server.timeout.",
  ),
  watch: z.array(z.string()).default([])
    .describe('For development: reload when files change, such as ["app/**/*.php", ".env"], relative to root.'),
};

const pool = z.strictObject({
  match: z.strictObject({
    host: z.array(z.string()).min(1).optional().describe('Hosts, such as ["api.example.com", "*.example.org"].'),
    path: z.array(z.string().startsWith("/")).min(1).optional().describe('Paths, such as ["/api/**"].'),
  }).refine((match) => match.host !== undefined || match.path !== undefined, "expected host, path or both")
    .describe("Which requests it takes; the first pool that fits does, [php] the rest."),
  ...own,
  clear_env: inherited.clear_env.optional(),
  scheduling: inherited.scheduling.optional(),
  index: inherited.index.optional(),
  front_controller: inherited.front_controller.optional(),
  follow: inherited.follow.optional(),
});

export const phpTable: z.ZodType<PhpSettings> = z.strictObject({
  ...own,
  clear_env: inherited.clear_env.default(true),
  scheduling: inherited.scheduling.default("normal"),
  index: inherited.index.default("index.php"),
  front_controller: inherited.front_controller.default("/index.php"),
  follow: inherited.follow.default([]),
  pools: z.record(z.string().regex(/^[a-z][a-z0-9_-]{0,31}$/, "expected a name of a-z, 0-9, - and _"), pool).default({})
    .describe("Further pools of PHP processes, each for some hosts or paths."),
}).superRefine((table, ctx) => {
  const php = table as PhpSettings;
  const check = (path: readonly string[], settings: PoolSettings) => {
    const [key, message] = poolProblem(settings) ?? [];
    if (key !== undefined) ctx.addIssue({ code: "custom", path: [...path, key], message: message! });
  };
  check([], php);
  for (const [name, own] of Object.entries(php.pools)) check(["pools", name], poolSettings(php, own));
}) as z.ZodType<PhpSettings>;

/** What is wrong between two keys of one pool: the key to blame, and what to do. */
function poolProblem(
  settings: PoolSettings,
): readonly [key: keyof PoolSettings, text: string] | undefined {
  const { concurrency, max_concurrency: most, max_memory: soft, hard_memory: hard } = settings;
  if (engineOf(settings) !== "worker") {
    if (settings.script !== undefined) return ["script", 'it is for engine = "worker"'];
    if (settings.isolation === "fork") return ["isolation", 'fork is for engine = "worker"'];
    if (settings.watch.length > 0) return ["watch", 'it is for engine = "worker"'];
    if (most > 0) return ["max_concurrency", 'it is for engine = "worker"'];
    if (settings.engine !== "embed") return undefined;
    if (settings.fastcgi !== undefined) return ["fastcgi", 'it is for engine = "fpm"'];
    return undefined;
  }
  if (typeof settings.front_controller === "object") {
    return ["front_controller", 'a table of them is for engine = "fpm" or "embed"'];
  }
  if (settings.script === undefined) return ["engine", 'expected a script too: "worker" needs one'];
  if (settings.fastcgi !== undefined) return ["fastcgi", 'it is for engine = "fpm"'];
  if (settings.catch_output) {
    return ["catch_output", 'it is for engine = "fpm"; the stderr of workers is always logged'];
  }
  if (most > 0 && most < concurrency) return ["max_concurrency", "expected at least concurrency, the fewest workers"];
  if (hard > 0 && soft > hard) return ["max_memory", "expected at most hard_memory, which ends a worker at once"];
  if (settings.isolation === "none") return undefined;
  if (settings.protocol === "goridge") return ["isolation", "fork is for native and frankenphp workers"];
  if (settings.max_requests > 0) return ["max_requests", "forked workers answer one request each; leave it out"];
  return undefined;
}

/** A named pool's settings, with what it leaves to `[php]`. */
export function poolSettings(base: PhpSettings, own: NamedPoolSettings): PoolSettings {
  const { binary, clear_env, user, group, scheduling, index, front_controller, follow, root } = base;
  const given = Object.fromEntries(
    Object.entries(own).filter(([name, value]) => name !== "match" && value !== undefined),
  ) as unknown as PoolSettings;
  // A table is for scripts that run anew.
  const apart = typeof front_controller === "object" && engineOf(own as PoolSettings) === "worker";
  const front = apart ? "/index.php" : front_controller;
  return {
    // A program is of use to the same kind of engine only.
    ...(engineOf(base) === engineOf(own as PoolSettings) ? { binary } : {}),
    ...{ clear_env, user, group, scheduling, index, follow, root, front_controller: front },
    ...given,
    env: { ...base.env, ...own.env },
    ini: { ...base.ini, ...own.ini },
  };
}

/** What `auto` means. */
export function engineOf({ engine, script }: Pick<PoolSettings, "engine" | "script">): "fpm" | "worker" | "embed" {
  return engine !== "auto" ? engine : script === undefined ? "fpm" : "worker";
}
