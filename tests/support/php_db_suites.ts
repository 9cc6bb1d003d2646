/**
 * Runs PHP's own tests of mysqli and PDO against a place, and tells each one's outcome.
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
import { basename, dirname, join } from "node:path";
import process from "node:process";
import type { Certificates } from "./certificates.ts";
import { type Database, type Place, tester } from "./database.ts";
import { startProxy, type Strategy, type TestProxy } from "./db_proxy.ts";
import { demandOutput, saidBy } from "./php_db_output.ts";
import type { PhpSource } from "./php_source.ts";
import type { HostName } from "./server.ts";

export type Outcome = "PASSED" | "FAILED" | "SKIPPED" | "BORKED" | "WARNED" | "XFAILED" | "LEAKED" | "MISSING";

/** Folders of `ext/`: those of mysqli, of PDO for MySQL, and of PDO itself, which every driver has to pass. */
export const suites = ["mysqli", "pdo_mysql", "pdo"] as const;
export type Suite = typeof suites[number];

/** Tests that do not end, directly neither, by kind of server. */
export const endless: Readonly<Record<Database["kind"], readonly string[]>> = {
  mariadb: [],
  // It ends a connection with COM_PROCESS_KILL, which MySQL 9 knows no more, and then waits a day for what was to end.
  mysql: ["mysqli/mysqli_poll_kill.phpt"],
};

/** How PHP reaches the place. */
export type Transport = "tcp" | "socket";

/** Some of the tests log in as somebody else, or as nobody: a proxy they run through must know who is who. */
export const suiteUsers: Readonly<Record<string, unknown>> = {
  auth: "users",
  users: { [tester.user]: tester.password },
  unknown_users: "relay",
};

/** The proxy as suites of clients run through it, over TCP on both of its sides, or over unix sockets on both. */
export function suiteProxy(
  upstream: Database,
  transport: Transport,
  strategy: Strategy,
  host: HostName,
  certificates: Certificates,
): Promise<TestProxy> {
  // MySQL offers TLS by itself: a client that asks for it must not see a difference.
  const tls = upstream.kind === "mysql" ? { tls_cert: certificates.cert, tls_key: certificates.key } : {};
  return startProxy({
    upstream,
    viaSocket: transport === "socket",
    strategy,
    host,
    settings: { ...suiteUsers, ...tls },
  });
}

export interface SuiteOptions {
  readonly source: PhpSource;
  readonly place: Place;
  /** `tcp` when absent. */
  readonly transport?: Transport;
  /** The schema the tests may do with as they like; it must exist. */
  readonly schema: string;
  /** Names such as `mysqli/mysqli_query.phpt`. */
  readonly tests: readonly string[];
  /** Whether to keep what each test prints: none has the outcome PASSED then. */
  readonly outputs?: boolean;
}

/** The extensions that the tests use, as their ini files are called behind the number. */
const extensions = /^(?:\d+-)?(?:mysqlnd|mysqli|pdo|pdo_mysql|posix|pcntl|openssl)\.ini$/;

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
  /** What differed from what was expected, by test; with `outputs` what it printed. */
  readonly diffs: ReadonlyMap<string, string>;
}

const folderOf = (dir: string, suite: string): string => join(dir, "ext", suite, "tests");

/** The names of a suite's tests. */
export function suiteTests(source: PhpSource, suite: Suite): string[] {
  // `common.phpt` runs the suite of PDO as one test: here each of them is one.
  return readdirSync(folderOf(source.dir, suite)).filter((name) => name.endsWith(".phpt") && name !== "common.phpt")
    .sort().map((name) => `${suite}/${name}`);
}

/** The tests a word means: a suite, a test's file, or both as `pdo/pdo_001.phpt`. Throws when it means none. */
export function testsCalled(source: PhpSource, word: string): string[] {
  const all = suites.flatMap((suite) => suiteTests(source, suite));
  const found = all.filter((name) => name === word || dirname(name) === word || basename(name) === word);
  if (found.length === 0) {
    throw new Error(`No test is called ${word}: expected one of ${suites.join(", ")} or a file there`);
  }
  return found;
}

/** One run in a folder of its own, one test at a time. */
export async function runSuite(options: SuiteOptions): Promise<SuiteResult> {
  return await inFolder(options, (dir) => runTests(dir, options));
}

/** Does something with a copy of the suites: tests write beside themselves. */
async function inFolder<T>(
  { source, outputs }: Pick<SuiteOptions, "source" | "outputs">,
  work: (dir: string) => Promise<T>,
): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-php-tests-"));
  try {
    cpSync(source.dir, dir, { recursive: true });
    iniFolder(dir);
    if (outputs) suites.forEach((suite) => demandOutput(folderOf(dir, suite)));
    return await work(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function runTests(dir: string, options: SuiteOptions): Promise<SuiteResult> {
  const results = join(dir, "results");
  rmSync(results, { force: true });
  const path = (name: string) => join(folderOf(dir, dirname(name)), basename(name));
  const missing = options.tests.filter((name) => !existsSync(path(name)));
  const there = options.tests.filter((name) => !missing.includes(name));
  writeFileSync(join(dir, "list"), there.map((name) => `${path(name)}\n`).join(""));
  const output = await run(dir, {
    TEST_PHP_EXECUTABLE: "/usr/bin/php",
    NO_INTERACTION: "1",
    PHP_INI_SCAN_DIR: join(dir, "ini"),
    REPORT_EXIT_STATUS: "1",
    ...whereabouts(dir, options),
  });
  const outcomes = new Map<string, Outcome>(missing.map((name) => [name, "MISSING"]));
  const table = existsSync(results) ? readFileSync(results, "utf8") : "";
  for (const line of table.split("\n").filter(Boolean)) {
    const [outcome, file = ""] = line.split("\t");
    outcomes.set(`${basename(dirname(dirname(file)))}/${basename(file)}`, outcome as Outcome);
  }
  if (outcomes.size < options.tests.length) {
    throw new Error(`run-tests.php told of ${outcomes.size} of ${options.tests.length} tests:\n${output.slice(-2000)}`);
  }
  const diffs = new Map<string, string>();
  for (const name of there) {
    const file = path(name).replace(/phpt$/, options.outputs ? "out" : "diff");
    if (!existsSync(file)) continue;
    const text = readFileSync(file, options.outputs ? "latin1" : "utf8");
    diffs.set(name, options.outputs ? saidBy(text, { dir, place: options.place, schema: options.schema }) : text);
  }
  return { outcomes, diffs };
}

/** What the tests read from the environment. */
function whereabouts(dir: string, { place, transport = "tcp", schema }: SuiteOptions): Record<string, string> {
  // Clients take `localhost` for the unix socket.
  const host = transport === "socket" ? "localhost" : place.host;
  const socket = transport === "socket" ? { PDO_MYSQL_TEST_SOCKET: place.socket } : {};
  const dsn = transport === "socket"
    ? `mysql:dbname=${schema};host=localhost;unix_socket=${place.socket}`
    : `mysql:dbname=${schema};host=${host};port=${place.port}`;
  return {
    MYSQL_TEST_HOST: host,
    MYSQL_TEST_PORT: String(place.port),
    MYSQL_TEST_SOCKET: place.socket,
    MYSQL_TEST_USER: place.user,
    MYSQL_TEST_PASSWD: place.password,
    MYSQL_TEST_DB: schema,
    MYSQL_TEST_ENGINE: "InnoDB",
    PDO_MYSQL_TEST_DSN: dsn,
    PDO_MYSQL_TEST_HOST: host,
    PDO_MYSQL_TEST_PORT: String(place.port),
    PDO_MYSQL_TEST_DB: schema,
    PDO_MYSQL_TEST_USER: place.user,
    PDO_MYSQL_TEST_PASS: place.password,
    PDO_MYSQL_TEST_ENGINE: "InnoDB",
    ...socket,
    // The tests of PDO itself are told of their driver by that driver's `common.phpt`.
    PDOTEST_DSN: dsn,
    PDOTEST_USER: place.user,
    PDOTEST_PASS: place.password,
    REDIR_TEST_DIR: `${folderOf(dir, "pdo")}/`,
  };
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

/**
 * Tests that look at all connections and at what each of them runs: beside others they see statements of 16 MB, which PHP has not
 * the memory for, and through the proxy not always the ids they were greeted with.
 */
const aloneTests: ReadonlySet<string> = new Set(
  ["no_reconnect", "pconn_kill", "pconn_max_links"].map((name) => `mysqli/mysqli_${name}.phpt`),
);

/** The tests in as many lanes as there are schemas, side by side; those of {@linkcode aloneTests} when the others are done. */
export async function runSuiteSideBySide(
  { schemas, ...options }: Omit<SuiteOptions, "schema"> & { readonly schemas: readonly string[] },
): Promise<SuiteResult> {
  const rest = options.tests.filter((test) => !aloneTests.has(test));
  const outcomes = new Map<string, Outcome>(), diffs = new Map<string, string>();
  const lane = async (schema: string, dir: string, left: string[]) => {
    while (left.length > 0) {
      const result = await runTests(dir, { ...options, schema, tests: left.splice(0, hand) });
      for (const [test, outcome] of result.outcomes) outcomes.set(test, outcome);
      for (const [test, diff] of result.diffs) diffs.set(test, diff);
    }
  };
  await Promise.all(schemas.map((schema) => inFolder(options, (dir) => lane(schema, dir, rest))));
  const alone = options.tests.filter((test) => aloneTests.has(test));
  if (alone.length > 0) await inFolder(options, (dir) => lane(schemas[0]!, dir, alone));
  return { outcomes, diffs };
}

/** How many tests have each outcome, as `403 PASSED, 7 SKIPPED`. */
export function tally(outcomes: Iterable<Outcome>): string {
  const counts = new Map<Outcome, number>();
  for (const outcome of outcomes) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).map(([outcome, count]) => `${count} ${outcome}`).join(", ");
}

export interface Difference {
  readonly test: string;
  readonly direct: Outcome | undefined;
  readonly proxied: Outcome | undefined;
}

/** The tests whose outcome is not the same; with `outputs` those, too, that print something else. */
export function differences(direct: SuiteResult, proxied: SuiteResult, outputs = false): Difference[] {
  const names = [...new Set([...direct.outcomes.keys(), ...proxied.outcomes.keys()])].sort();
  return names.filter((test) =>
    direct.outcomes.get(test) !== proxied.outcomes.get(test) ||
    outputs && direct.diffs.get(test) !== proxied.diffs.get(test)
  ).map((test) => ({ test, direct: direct.outcomes.get(test), proxied: proxied.outcomes.get(test) }));
}
