/**
 * Runs PHP's own tests of mysqli and PDO against MariaDB and MySQL 9, directly and through the proxy, and prints the tests whose
 * outcome differs. One that differs is run again some times: where directly it has both outcomes, it says nothing.
 *
 *     --direct            only the direct half
 *     --server NAME       mariadb or mysql; both when absent
 *     --strategy NAME     smart, always or never, several times; smart and always when absent
 *     --host NAME         what the proxy runs on: bun, deno or binary
 *     --transport NAME    tcp or socket, to the proxy and to the server behind it; both when absent
 *     --outputs           compare what the tests print instead of their outcomes: for looking, since times and ids differ anyhow
 *     -j N                N tests at a time, each of them in a schema of its own; 1 when absent
 *     --again N           how often a test that differs is run again, alone, both ways; 3 when absent
 *     --place HOST:PORT:SOCKET:USER:PASSWORD   run against this alone, in the schema `test`
 *     TEST ...            these only: mysqli, pdo_mysql or pdo, or files of theirs, such as pdo/pdo_001.phpt
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { makeCertificates } from "../tests/support/certificates.ts";
import type { Database, Place } from "../tests/support/database.ts";
import { servers } from "../tests/support/db_matrix.ts";
import { proxyAbsent, type Strategy } from "../tests/support/db_proxy.ts";
import {
  differences,
  endless,
  type Outcome,
  runSuiteSideBySide,
  suiteProxy,
  type SuiteResult,
  suites,
  tally,
  testsCalled,
  type Transport,
} from "../tests/support/php_db_suites.ts";
import { unifiedDiff } from "../tests/support/php_db_output.ts";
import { phpSource } from "../tests/support/php_source.ts";
import { RawClient } from "../tests/support/raw_client.ts";
import type { HostName } from "../tests/support/server.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    direct: { type: "boolean", default: false },
    server: { type: "string" },
    strategy: { type: "string", multiple: true, default: ["smart", "always"] },
    host: { type: "string", default: "bun" },
    transport: { type: "string", multiple: true, default: ["tcp", "socket"] },
    outputs: { type: "boolean", default: false },
    jobs: { type: "string", short: "j", default: "1" },
    again: { type: "string", default: "3" },
    place: { type: "string" },
  },
});
const folder = mkdtempSync(join(tmpdir(), "fairlead-certificates-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const certificates = makeCertificates(folder);
const lanes = Number(values.jobs);
const source = phpSource();
const words = positionals.length > 0 ? positionals : suites;
const tests = [...new Set(words.flatMap((word) => testsCalled(source, word)))];
const since = performance.now();
const say = (text: string) => console.log(`[${Math.round((performance.now() - since) / 1000)} s] ${text}`);

/** What came of it, and where. */
interface Run {
  readonly place: Place;
  readonly transport: Transport;
  readonly result: SuiteResult;
}

const transports = values.transport as Transport[];
const bad = (outcome: Outcome | undefined) => outcome !== "PASSED" && outcome !== "SKIPPED";

/** A run on empty schemas. */
async function run(
  { place, transport }: Pick<Run, "place" | "transport">,
  names: readonly string[],
  jobs: number,
): Promise<SuiteResult> {
  await using client = await RawClient.login(place);
  const schemas = Array.from({ length: jobs }, (_, index) => lanes === 1 ? "test" : `php_tests_${index + 1}`);
  for (const schema of schemas) await client.run(`DROP DATABASE IF EXISTS ${schema}`, `CREATE DATABASE ${schema}`);
  await client.quit();
  return await runSuiteSideBySide({ source, place, transport, schemas, tests: names, outputs: values.outputs });
}

async function suite(name: string, place: Place, transport: Transport, left: readonly string[] = []): Promise<Run> {
  const result = await run({ place, transport }, tests.filter((test) => !left.includes(test)), lanes);
  for (const suite of suites) {
    const outcomes = [...result.outcomes].filter(([test]) => test.startsWith(`${suite}/`));
    if (outcomes.length > 0) say(`${name}, ${suite}: ${tally(outcomes.map(([, outcome]) => outcome))}`);
    if (values.outputs) continue;
    for (const [test, outcome] of outcomes) if (bad(outcome)) console.log(`    ${outcome} ${test}`);
  }
  return { place, transport, result };
}

/** How many tests differ, and do so whenever they are run. */
async function compare(name: string, direct: Run, proxied: Run): Promise<number> {
  const unlike = differences(direct.result, proxied.result, values.outputs);
  if (unlike.length === 0) say(`${name}: no test differs`);
  let steady = 0;
  // What counts of a test: its outcome, or what it says.
  const seenIn = ({ outcomes, diffs }: SuiteResult, test: string) =>
    values.outputs ? diffs.get(test) ?? outcomes.get(test) : outcomes.get(test);
  for (const { test } of unlike) {
    const seen = { direct: [seenIn(direct.result, test)], proxied: [seenIn(proxied.result, test)] };
    for (let turn = 0; turn < Number(values.again); turn++) {
      seen.direct.push(seenIn(await run(direct, [test], 1), test));
      seen.proxied.push(seenIn(await run(proxied, [test], 1), test));
    }
    const flaky = seen.proxied.every((one) => seen.direct.includes(one));
    if (!flaky) steady++;
    const said = values.outputs
      ? "prints something else"
      : `${seen.direct.join(", ")} directly, ${seen.proxied.join(", ")} through the proxy`;
    say(`${name}: ${test}: ${said}${flaky ? " (not steady directly)" : ""}`);
    const diffs = [direct.result.diffs.get(test) ?? "", proxied.result.diffs.get(test) ?? ""] as const;
    if (!flaky || !values.outputs) console.log(values.outputs ? unifiedDiff(...diffs) : diffs.join("\n"));
  }
  if (unlike.length > 0) say(`${name}: ${steady} tests differ`);
  return steady;
}

async function both(database: Database, transport: Transport, title: string): Promise<number> {
  const left = endless[database.kind];
  for (const test of left.filter((test) => tests.includes(test))) {
    say(`${title}: ${test} is left out: it never ends there`);
  }
  const direct = await suite(`${title}, directly`, database, transport, left);
  if (values.direct) return 0;
  const absent = proxyAbsent();
  if (absent) throw new Error(`Cannot run through the proxy: ${absent}`);
  let unlike = 0;
  for (const strategy of values.strategy as Strategy[]) {
    await using proxy = await suiteProxy(database, transport, strategy, values.host as HostName, certificates);
    const name = `${title}, through the ${strategy} proxy on ${values.host}`;
    unlike += await compare(name, direct, await suite(name, proxy, transport, left));
  }
  return unlike;
}

say(`PHP's tests of ${source.version}`);
let unlike = 0;
if (values.place !== undefined) {
  const [host = "", port = "", socket = "", user = "", ...password] = values.place.split(":");
  const place = { host, port: Number(port), socket, user, password: password.join(":") };
  for (const transport of transports) await suite(`${values.place} over ${transport}`, place, transport);
} else {
  for (const server of servers.filter(({ kind }) => values.server === undefined || values.server === kind)) {
    if (server.absent) {
      say(`${server.title}: skipped, ${server.absent}`);
      continue;
    }
    // A test fills ever larger packets until the server takes no more, or half a minute is over.
    await using database = await server.start({ options: ["max_allowed_packet=16M"] });
    for (const transport of transports) {
      unlike += await both(database, transport, `${server.title} over ${transport}`);
    }
  }
}
process.exit(unlike === 0 ? 0 : 1);
