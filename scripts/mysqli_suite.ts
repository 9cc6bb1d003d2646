/**
 * Runs PHP's own tests of mysqli against MariaDB and MySQL 9, directly and through the proxy, and prints the tests whose
 * outcome differs.
 *
 *     --direct            only the direct half
 *     --server NAME       mariadb or mysql; both when absent
 *     --strategy NAME     smart, always or never, several times; smart and always when absent
 *     --host NAME         what the proxy runs on: bun, deno or binary
 *     -j N                N runs side by side, each in a schema of its own
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
  runSuite,
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
    place: { type: "string" },
  },
});
const folder = mkdtempSync(join(tmpdir(), "fairlead-certificates-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const certificates = makeCertificates(folder);
const lanes = Number(values.jobs);
const source = phpSource();
const tests = positionals.length > 0 ? { tests: positionals } : {};
const since = performance.now();
const say = (text: string) => console.log(`[${Math.round((performance.now() - since) / 1000)} s] ${text}`);

const bad = (outcome: Outcome | undefined) => outcome !== "PASSED" && outcome !== "SKIPPED";

/** The suite in every lane at once, each on an empty schema. */
async function suite(name: string, place: Place): Promise<SuiteResult[]> {
  await using client = await RawClient.login(place);
  const schemas = Array.from({ length: lanes }, (_, index) => lanes === 1 ? "test" : `test${index + 1}`);
  for (const schema of schemas) await client.run(`DROP DATABASE IF EXISTS ${schema}`, `CREATE DATABASE ${schema}`);
  await client.quit();
  const results = await Promise.all(schemas.map((schema) => runSuite({ source, place, schema, ...tests })));
  results.forEach((result, index) => {
    say(`${name}${lanes > 1 ? `, run ${index + 1}` : ""}: ${tally(result.outcomes)}`);
    for (const [test, outcome] of result.outcomes) if (bad(outcome)) console.log(`    ${outcome} ${test}`);
  });
  return results;
}

function compare(name: string, direct: SuiteResult, proxied: SuiteResult): number {
  const unlike = differences(direct, proxied);
  say(`${name}: ${unlike.length === 0 ? "no test differs" : `${unlike.length} tests differ`}`);
  for (const { test, direct: before, proxied: after } of unlike) {
    console.log(`    ${test}: ${before} directly, ${after} through the proxy\n${proxied.diffs.get(test) ?? ""}`);
  }
  return unlike.length;
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
    for (const [index, result] of proxied.entries()) unlike += compare(name, direct[index]!, result);
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
    await using database = await server.start();
    unlike += await both(database, server.title);
  }
}
process.exit(unlike === 0 ? 0 : 1);
