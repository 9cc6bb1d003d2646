/**
 * A fresh Laravel application on MariaDB and MySQL 9, directly and through the proxy: `migrate:fresh --seed`, its tests (and
 * one that refreshes the database for each of its cases), and `laravel/story.php`: Eloquent, transactions, locks, cursors,
 * cache, queue. Prints what differs. The application is made once, by composer, in the system's temporary folder.
 *
 *     --server NAME       mariadb or mysql; both when absent
 *     --strategy NAME     smart, always or never, several times; smart when absent
 *     --host NAME         what the proxy runs on: bun, deno or binary, several times; bun when absent
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Place } from "../tests/support/database.ts";
import { servers } from "../tests/support/db_matrix.ts";
import { startProxy, type Strategy } from "../tests/support/db_proxy.ts";
import { RawClient } from "../tests/support/raw_client.ts";
import type { HostName } from "../tests/support/server.ts";

const { values } = parseArgs({
  options: {
    server: { type: "string" },
    strategy: { type: "string", multiple: true, default: ["smart"] },
    host: { type: "string", multiple: true, default: ["bun"] },
  },
});
const since = performance.now();
const say = (text: string) => console.log(`[${Math.round((performance.now() - since) / 1000)} s] ${text}`);
const parts = fileURLToPath(new URL("./laravel/", import.meta.url));

function run(program: string, args: readonly string[], cwd: string, env: Record<string, string> = {}): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1", COMPOSER_ALLOW_SUPERUSER: "1", ...env },
    maxBuffer: 100 * 1024 * 1024,
  });
  if (error) throw error;
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${status}:\n${stdout}${stderr}`);
  return stdout;
}

/** The application's folder; composer takes a minute or two, once. */
function application(): string {
  const dir = join(tmpdir(), "fairlead-laravel");
  if (!existsSync(dir)) {
    const parent = mkdtempSync(`${dir}-`), made = join(parent, "app");
    const quiet = ["--no-interaction", "--no-progress"];
    run("composer", ["create-project", ...quiet, "--no-install", "--no-scripts", "laravel/laravel", made], parent);
    // Tools of its developers, which may want a newer PHP than the framework does.
    run("composer", ["remove", "--dev", "--no-update", "laravel/pint", "laravel/sail", "laravel/pail"], made);
    copyFileSync(join(made, ".env.example"), join(made, ".env"));
    run("composer", ["update", ...quiet], made);
    run("php", ["artisan", "key:generate"], made);
    renameSync(made, dir);
    rmSync(parent, { recursive: true });
  }
  copyFileSync(join(parts, "story.php"), join(dir, "story.php"));
  copyFileSync(join(parts, "DatabaseTest.php"), join(dir, "tests/Feature/DatabaseTest.php"));
  return dir;
}

/** What cannot be the same twice: times taken. */
const timeless = (text: string) => text.replace(/[ .]*\d+(\.\d+)?\s?m?s\b/g, "").replace(/Duration:.*/g, "").trim();

async function tale(app: string, place: Place): Promise<Record<string, string>> {
  await using client = await RawClient.login(place);
  await client.run("DROP DATABASE IF EXISTS laravel", "CREATE DATABASE laravel CHARACTER SET utf8mb4");
  await client.quit();
  const { host, port, user, password } = place;
  const env = {
    DB_CONNECTION: "mysql",
    DB_HOST: host,
    DB_PORT: String(port),
    DB_DATABASE: "laravel",
    DB_USERNAME: user,
    DB_PASSWORD: password,
  };
  const artisan = (...args: string[]) => timeless(run("php", ["artisan", "--no-interaction", ...args], app, env));
  return {
    migrations: artisan("migrate:fresh", "--seed"),
    status: artisan("migrate:status"),
    tables: artisan("db:show", "--counts").split("\n").filter((line) => !/Open Connections|Port|Size|MiB|KB/.test(line))
      .join("\n"),
    story: run("php", ["story.php"], app, env),
    queue: artisan("queue:work", "--stop-when-empty").replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, ""),
    rollback: artisan("migrate:rollback"),
    again: artisan("migrate"),
    tests: timeless(run("php", ["vendor/bin/phpunit", "--testdox", "--colors=never"], app, env))
      .split("\n").filter((line) => !/^(Time|Runtime|Configuration):|^[.]+ +\d/.test(line)).join("\n"),
  };
}

const app = application();
say(`Laravel ${run("php", ["artisan", "--version"], app).trim().split(" ").at(-1)}`);
let unlike = 0;
for (const server of servers.filter(({ kind }) => values.server === undefined || values.server === kind)) {
  if (server.absent) {
    say(`${server.title}: skipped, ${server.absent}`);
    continue;
  }
  await using database = await server.start();
  const direct = await tale(app, database);
  say(`${server.title}, directly:\n${direct["tests"]!.split("\n").at(-1)}`);
  for (const host of values.host as HostName[]) {
    for (const strategy of values.strategy as Strategy[]) {
      await using proxy = await startProxy({ upstream: database, strategy, host, size: 8 });
      const proxied = await tale(app, proxy);
      const differing = Object.keys(direct).filter((name) => direct[name] !== proxied[name]);
      unlike += differing.length;
      const result = differing.length === 0 ? "no step differs" : `${differing.length} steps differ`;
      say(`${server.title}, through the ${strategy} proxy on ${host}: ${result}`);
      for (const name of differing) {
        console.log(`--- ${name}, directly\n${direct[name]}\n--- proxied\n${proxied[name]}`);
      }
    }
  }
}
process.exit(unlike === 0 ? 0 : 1);
