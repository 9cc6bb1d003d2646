import process from "node:process";
import { parseArgs } from "node:util";
import { CoreError } from "../core/error.ts";
import type { Address } from "../core/http/address.ts";
import { adminAddress, askAdmin } from "./admin_client.ts";
import { drawDatabase, type Pool, type Queries, type View } from "./db_table.ts";
import { prepare } from "./prepare.ts";

const expected =
  "expected top [-c FILE | --admin ADDRESS] [--by time|count|errors|rows|mean|max] [--limit N] [--db NAME] [--once]";

/**
 * `fairlead db top`: the statements that cost most, and the pools. On a terminal it is drawn anew each second until
 * Ctrl+C; else, and with `--once`, it is printed once.
 */
export async function db(args: readonly string[]): Promise<number> {
  const { admin, config, once, query } = readArguments(args);
  const at = admin === undefined ? await configuredAdmin(config) : adminAddress(admin);
  const live = process.stdout.isTTY && !once;
  let before: Look | undefined;
  do {
    const look = await take(at, query, before).catch((error) => {
      // Once it has worked, a server that restarts is waited for.
      if (before === undefined) throw error;
      return { ...before, error: (error as Error).message };
    });
    draw(look, live);
    before = look;
    if (live) await new Promise((resolve) => setTimeout(resolve, 1000));
  } while (live);
  return 0;
}

function readArguments(args: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: {
        config: { type: "string", short: "c" },
        admin: { type: "string" },
        once: { type: "boolean" },
        by: { type: "string" },
        limit: { type: "string" },
        db: { type: "string" },
      },
      allowPositionals: true,
      strict: true,
    });
    if (positionals.join(" ") !== "top") throw new Error("no such command");
    if (values.admin !== undefined && values.config !== undefined) throw new Error("-c and --admin exclude each other");
    const query = new URLSearchParams();
    for (const name of ["by", "limit", "db"] as const) if (values[name] !== undefined) query.set(name, values[name]);
    const { admin, config, once } = values;
    return { admin, config, once: once ?? false, query };
  } catch (cause) {
    throw new CoreError("USAGE", `${(cause as Error).message}; ${expected}`, { cause });
  }
}

async function configuredAdmin(file: string | undefined): Promise<Address> {
  const { listen } = (await prepare(file)).options.admin;
  if (listen !== "") return adminAddress(listen);
  throw new CoreError(
    "ADMIN_OFF",
    "The configuration switches the admin listener off; expected an address in admin.listen",
  );
}

/** What was seen at one moment. */
interface Look {
  readonly views: readonly View[];
  /** Milliseconds, monotonic. */
  readonly at: number;
  readonly error?: string;
}

async function take(at: Address, query: URLSearchParams, before: Look | undefined): Promise<Look> {
  if (!query.has("limit")) query.set("limit", String(Math.max(5, (process.stdout.rows || 30) - 10)));
  const [queries, pools] = await Promise.all([
    askAdmin(at, `/-/db/queries?${query}`) as Promise<{ databases: Queries[] }>,
    askAdmin(at, "/-/db/pool") as Promise<{ databases: Pool[] }>,
  ]);
  const now = performance.now();
  const views = queries.databases.flatMap((found): View[] => {
    const pool = pools.databases.find(({ name }) => name === found.name);
    const last = before?.views.find((view) => view.queries.name === found.name)?.queries;
    const done = last?.since === found.since ? found.total.count - last.total.count : undefined;
    const perSecond = done === undefined ? undefined : done / ((now - before!.at) / 1000);
    return pool === undefined ? [] : [{ pool, queries: found, perSecond }];
  });
  return { views, at: now };
}

function draw({ views, error }: Look, live: boolean): void {
  const width = process.stdout.isTTY ? process.stdout.columns || 80 : Infinity;
  const lines = views.flatMap((view, i) => [...(i === 0 ? [] : [""]), ...drawDatabase(view, width)]);
  if (error !== undefined) lines.unshift(error.slice(0, width));
  if (views.length === 0) lines.push("no database is configured: see [db.mysql]");
  // Home, then each line to its end, then what was below: a screen that is wiped first would flicker.
  const shown = live ? lines.slice(0, (process.stdout.rows || 30) - 1).map((line) => `${line}\x1b[K`) : lines;
  console.log(live ? `\x1b[H${shown.join("\n")}\x1b[J` : shown.join("\n"));
}
