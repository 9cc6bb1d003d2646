/**
 * Runs PHP's own tests of mysqli against a place, and tells each one's outcome.
 *
 * @module
 */
import { execFileSync, spawn } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
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

/** The extensions that the tests use, as their ini files are called behind the number. */
const extensions = /^(?:\d+-)?(?:mysqlnd|mysqli|posix|pcntl|openssl)\.ini$/;

/**
 * A folder of ini files for those alone: a distribution's PHP loads some forty, which takes longer than most of the tests, of
 * which each starts three processes.
 */
function iniFolder(dir: string): void {
  const told = execFileSync("php", ["-r", "echo php_ini_scanned_files();"], { encoding: "utf8" });
  const folder = join(dir, "ini");
  mkdirSync(folder);
  for (const file of told.split(",").map((name) => name.trim()).filter(Boolean)) {
    if (extensions.test(basename(file))) copyFileSync(file, join(folder, basename(file)));
  }
}

export interface SuiteResult {
  readonly outcomes: ReadonlyMap<string, Outcome>;
  /** What differed from what was expected, by test. */
  readonly diffs: ReadonlyMap<string, string>;
}

/** The names of all tests. */
export function suiteTests(source: PhpSource): string[] {
  return readdirSync(join(source.dir, "ext/mysqli/tests")).filter((name) => name.endsWith(".phpt")).sort();
}

/** One run in a folder of its own, one test at a time. */
export async function runSuite(options: SuiteOptions): Promise<SuiteResult> {
  return await inFolder(options.source, (dir) => runTests(dir, options));
}

/** Does something with a copy of the suite: tests write beside themselves. */
async function inFolder<T>(source: PhpSource, work: (dir: string) => Promise<T>): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-mysqli-"));
  try {
    cpSync(source.dir, dir, { recursive: true });
    iniFolder(dir);
    return await work(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function runTests(dir: string, { source, place, schema, tests }: SuiteOptions): Promise<SuiteResult> {
  const folder = join(dir, "ext/mysqli/tests"), results = join(dir, "results");
  rmSync(results, { force: true });
  const names = tests ?? suiteTests(source);
  const missing = names.filter((name) => !existsSync(join(folder, name)));
  writeFileSync(
    join(dir, "list"),
    names.filter((name) => !missing.includes(name)).map((name) => `${join(folder, name)}\n`).join(""),
  );
  const output = await run(dir, {
    TEST_PHP_EXECUTABLE: "/usr/bin/php",
    NO_INTERACTION: "1",
    PHP_INI_SCAN_DIR: join(dir, "ini"),
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
  const table = existsSync(results) ? readFileSync(results, "utf8") : "";
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
}

function run(dir: string, env: Record<string, string>): Promise<string> {
  return new Promise((resolve, reject) => {
    const args = [
      "run-tests.php",
      "-q",
      "-g",
      "FAIL",
      "--set-timeout",
      "600",
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

/** So many tests a lane takes at a time: few, so that no lane is left with the slow ones; starting a run takes a second. */
const hand = 16;

/** The tests in as many lanes as there are schemas, side by side. */
export async function runSuiteSideBySide(
  { schemas, ...options }: Omit<SuiteOptions, "schema"> & { readonly schemas: readonly string[] },
): Promise<SuiteResult> {
  const rest = [...options.tests ?? suiteTests(options.source)];
  const outcomes = new Map<string, Outcome>(), diffs = new Map<string, string>();
  const lane = async (schema: string, dir: string) => {
    while (rest.length > 0) {
      const result = await runTests(dir, { ...options, schema, tests: rest.splice(0, hand) });
      for (const [test, outcome] of result.outcomes) outcomes.set(test, outcome);
      for (const [test, diff] of result.diffs) diffs.set(test, diff);
    }
  };
  await Promise.all(schemas.map((schema) => inFolder(options.source, (dir) => lane(schema, dir))));
  return { outcomes, diffs };
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
