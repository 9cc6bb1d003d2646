/**
 * Runs PHP's own tests of mysqli against MariaDB and MySQL 9, directly and through the proxy, and prints the tests whose
 * outcome differs. One that differs is run again some times: where directly it has both outcomes, it says nothing.
 *
 *     --direct            only the direct half
 *     --server NAME       mariadb or mysql; both when absent
 *     --strategy NAME     smart, always or never, several times; smart and always when absent
 *     --host NAME         what the proxy runs on: bun, deno or binary
 *     -j N                N tests at a time, each of them in a schema of its own; 1 when absent
 *     --again N           how often a test that differs is run again, alone, both ways; 3 when absent
 *     --place HOST:PORT:SOCKET:USER:PASSWORD   run against this alone, in the schema `test`
 *     TEST.phpt ...       these tests only
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { makeCertificates } from "../tests/support/certificates.ts";
import type { Database, Place } from "../tests/support/database.ts";
import { servers } from "../tests/support/db_matrix.ts";
import { proxyAbsent, startProxy, type Strategy } from "../tests/support/db_proxy.ts";
import {
  differences,
  type Outcome,
  runSuiteSideBySide,
  type SuiteResult,
  suiteUsers,
  tally,
} from "../tests/support/mysqli_suite.ts";
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
const tests = positionals.length > 0 ? positionals : undefined;
const since = performance.now();
const say = (text: string) => console.log(`[${Math.round((performance.now() - since) / 1000)} s] ${text}`);

/** What came of it, and where. */
interface Run {
  readonly place: Place;
  readonly result: SuiteResult;
}

const bad = (outcome: Outcome | undefined) => outcome !== "PASSED" && outcome !== "SKIPPED";

/** A run on empty schemas. */
async function run(place: Place, names: readonly string[] | undefined, jobs: number): Promise<SuiteResult> {
  await using client = await RawClient.login(place);
  const schemas = Array.from({ length: jobs }, (_, index) => jobs === 1 ? "test" : `test${index + 1}`);
  for (const schema of schemas) await client.run(`DROP DATABASE IF EXISTS ${schema}`, `CREATE DATABASE ${schema}`);
  await client.quit();
  return await runSuiteSideBySide({ source, place, schemas, ...(names ? { tests: names } : {}) });
}

async function suite(name: string, place: Place): Promise<SuiteResult> {
  const result = await run(place, tests, lanes);
  say(`${name}: ${tally(result.outcomes)}`);
  for (const [test, outcome] of result.outcomes) if (bad(outcome)) console.log(`    ${outcome} ${test}`);
  return result;
}

/** How many tests differ, and do so whenever they are run. */
async function compare(name: string, direct: Run, proxied: Run): Promise<number> {
  const unlike = differences(direct.result, proxied.result);
  if (unlike.length === 0) say(`${name}: no test differs`);
  let steady = 0;
  for (const one of unlike) {
    const seen = { direct: [one.direct], proxied: [one.proxied] };
    for (let turn = 0; turn < Number(values.again); turn++) {
      seen.direct.push((await run(direct.place, [one.test], 1)).outcomes.get(one.test));
      seen.proxied.push((await run(proxied.place, [one.test], 1)).outcomes.get(one.test));
    }
    const flaky = seen.proxied.every((outcome) => seen.direct.includes(outcome));
    if (!flaky) steady++;
    say(`${name}: ${one.test}: ${seen.direct.join(", ")} directly, ${seen.proxied.join(", ")} through the proxy`);
    const diffs = [direct.result.diffs.get(one.test), proxied.result.diffs.get(one.test)];
    console.log(`${flaky ? "    (not steady directly)\n" : ""}${diffs.map((diff) => diff ?? "").join("\n")}`);
  }
  if (unlike.length > 0) say(`${name}: ${steady} tests differ`);
  return steady;
}

async function both(database: Database, title: string): Promise<number> {
  const direct = await suite(`${title}, directly`, database);
  if (values.direct) return 0;
  const absent = proxyAbsent();
  if (absent) throw new Error(`Cannot run through the proxy: ${absent}`);
  let unlike = 0;
  for (const strategy of values.strategy as Strategy[]) {
    // MySQL offers TLS by itself: a client that asks for it must not see a difference.
    const tls = database.kind === "mysql" ? { tls_cert: certificates.cert, tls_key: certificates.key } : {};
    await using proxy = await startProxy({
      upstream: database,
      strategy,
      host: values.host as HostName,
      settings: { ...suiteUsers, ...tls },
    });
    const name = `${title}, through the ${strategy} proxy on ${values.host}`;
    const proxied = await suite(name, proxy);
    unlike += await compare(name, { place: database, result: direct }, { place: proxy, result: proxied });
  }
  return unlike;
}

say(`PHP's tests of ${source.version}`);
let unlike = 0;
if (values.place !== undefined) {
  const [host = "", port = "", socket = "", user = "", ...password] = values.place.split(":");
  await suite(values.place, { host, port: Number(port), socket, user, password: password.join(":") });
} else {
  for (const server of servers.filter(({ kind }) => values.server === undefined || values.server === kind)) {
    if (server.absent) {
      say(`${server.title}: skipped, ${server.absent}`);
      continue;
    }
    // A test fills ever larger packets until the server takes no more, or half a minute is over.
    await using database = await server.start({ options: ["max_allowed_packet=16M"] });
    unlike += await both(database, server.title);
  }
}
process.exit(unlike === 0 ? 0 : 1);
