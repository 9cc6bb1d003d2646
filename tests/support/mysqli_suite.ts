/**
 * Runs PHP's own tests of mysqli against a place, and tells each one's outcome.
 *
 * @module
 */
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { type Place, tester } from "./database.ts";
import type { PhpSource } from "./php_source.ts";

export type Outcome = "PASSED" | "FAILED" | "SKIPPED" | "BORKED" | "WARNED" | "XFAILED" | "LEAKED" | "MISSING";

/** Some of the tests log in as somebody else, or as nobody: a proxy they run through must know who is who. */
export const suiteUsers: Readonly<Record<string, unknown>> = {
  auth: "users",
  users: { [tester.user]: tester.password },
  unknown_users: "relay",
};

export interface SuiteOptions {
  readonly source: PhpSource;
  readonly place: Place;
  /** The schema the tests may do with as they like; it must exist. */
  readonly schema: string;
  /** Names such as `mysqli_query.phpt`; all when absent. */
  readonly tests?: readonly string[];
}

export interface SuiteResult {
  readonly outcomes: ReadonlyMap<string, Outcome>;
  /** What differed from what was expected, by test. */
  readonly diffs: ReadonlyMap<string, string>;
}

/** The names of all tests. */
function suiteTests(source: PhpSource): string[] {
  return readdirSync(join(source.dir, "ext/mysqli/tests")).filter((name) => name.endsWith(".phpt")).sort();
}

/** One run in a folder of its own, one test at a time. */
export async function runSuite({ source, place, schema, tests }: SuiteOptions): Promise<SuiteResult> {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-mysqli-"));
  try {
    cpSync(source.dir, dir, { recursive: true });
    const folder = join(dir, "ext/mysqli/tests");
    const names = tests ?? suiteTests(source);
    const missing = names.filter((name) => !existsSync(join(folder, name)));
    writeFileSync(
      join(dir, "list"),
      names.filter((name) => !missing.includes(name)).map((name) => `${join(folder, name)}\n`).join(""),
    );
    const output = await run(dir, {
      TEST_PHP_EXECUTABLE: "/usr/bin/php",
      NO_INTERACTION: "1",
      REPORT_EXIT_STATUS: "1",
      MYSQL_TEST_HOST: place.host,
      MYSQL_TEST_PORT: String(place.port),
      MYSQL_TEST_SOCKET: place.socket,
      MYSQL_TEST_USER: place.user,
      MYSQL_TEST_PASSWD: place.password,
      MYSQL_TEST_DB: schema,
      MYSQL_TEST_ENGINE: "InnoDB",
    });
    const outcomes = new Map<string, Outcome>(missing.map((name) => [name, "MISSING"]));
    const table = existsSync(join(dir, "results")) ? readFileSync(join(dir, "results"), "utf8") : "";
    for (const line of table.split("\n").filter(Boolean)) {
      const [outcome, path = ""] = line.split("\t");
      outcomes.set(path.split("/").at(-1)!, outcome as Outcome);
    }
    if (outcomes.size < names.length) {
      throw new Error(`run-tests.php told of ${outcomes.size} of ${names.length} tests:\n${output.slice(-2000)}`);
    }
    const diffs = new Map<string, string>();
    for (const name of outcomes.keys()) {
      const file = join(folder, name.replace(/phpt$/, "diff"));
      if (existsSync(file)) diffs.set(name, readFileSync(file, "utf8"));
    }
    return { outcomes, diffs };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function run(dir: string, env: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const args = [
      "run-tests.php",
      "-q",
      "-g",
      "FAIL",
      "--set-timeout",
      "120",
      "-W",
      join(dir, "results"),
      "-r",
      join(dir, "list"),
    ];
    const child = spawn("php", args, { cwd: dir, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout!, child.stderr!]) stream.on("data", (bytes) => output += String(bytes));
    child.on("error", reject);
    child.on("close", () => resolve(output));
  });
}

/** How many tests have each outcome, as `403 PASSED, 7 SKIPPED`. */
export function tally(outcomes: ReadonlyMap<string, Outcome>): string {
  const counts = new Map<Outcome, number>();
  for (const outcome of outcomes.values()) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).map(([outcome, count]) => `${count} ${outcome}`).join(", ");
}

export interface Difference {
  readonly test: string;
  readonly direct: Outcome | undefined;
  readonly proxied: Outcome | undefined;
}

/** The tests whose outcome is not the same. */
export function differences(direct: SuiteResult, proxied: SuiteResult): Difference[] {
  const names = [...new Set([...direct.outcomes.keys(), ...proxied.outcomes.keys()])].sort();
  return names.map((test) => ({ test, direct: direct.outcomes.get(test), proxied: proxied.outcomes.get(test) }))
    .filter((one) => one.direct !== one.proxied);
}
