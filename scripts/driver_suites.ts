/**
 * Runs the own tests of Perl's DBD::mysql and DBD::MariaDB and of Python's mysqlclient against MariaDB and MySQL 9, directly and
 * through the proxy, and prints what differs. What differs is run again: where directly it has both outcomes, it says nothing.
 *
 *     --server NAME       mariadb or mysql; both when absent
 *     --strategy NAME     smart, always or never, several times; smart and always when absent
 *     --transport NAME    tcp or socket, to the proxy and to the server behind it; both when absent
 *     --host NAME         what the proxy runs on: bun, deno or binary
 *     --verbose           prints what failed directly, too
 *     DRIVER ...          these only, such as DBD::mysql
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { makeCertificates } from "../tests/support/certificates.ts";
import type { Place } from "../tests/support/database.ts";
import { servers } from "../tests/support/db_matrix.ts";
import type { Strategy } from "../tests/support/db_proxy.ts";
import {
  type Driver,
  driverAbsent,
  type DriverRun,
  drivers,
  fileOf,
  runDriver,
} from "../tests/support/driver_suites.ts";
import { unifiedDiff } from "../tests/support/php_db_output.ts";
import { suiteProxy, tally, type Transport } from "../tests/support/php_db_suites.ts";
import { RawClient } from "../tests/support/raw_client.ts";
import type { HostName } from "../tests/support/server.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    server: { type: "string" },
    strategy: { type: "string", multiple: true, default: ["smart", "always"] },
    transport: { type: "string", multiple: true, default: ["tcp", "socket"] },
    host: { type: "string", default: "bun" },
    verbose: { type: "boolean", default: false },
  },
});
const folder = mkdtempSync(join(tmpdir(), "fairlead-certificates-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const certificates = makeCertificates(folder);
const since = performance.now();
const say = (text: string) => console.log(`[${Math.round((performance.now() - since) / 1000)} s] ${text}`);

async function run(driver: Driver, place: Place, transport: Transport): Promise<DriverRun> {
  await using client = await RawClient.login(place);
  await client.run(
    "DROP DATABASE IF EXISTS test",
    "CREATE DATABASE test CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci",
  );
  await client.quit();
  return await runDriver(driver, place, transport);
}

const unlike = (one: DriverRun, other: DriverRun) =>
  [...new Set([...one.outcomes.keys(), ...other.outcomes.keys()])]
    .filter((test) => one.outcomes.get(test) !== other.outcomes.get(test));

/** How many tests differ, and do so whenever they are run. */
async function compare(
  driver: Driver,
  name: string,
  direct: Place,
  proxied: Place,
  transport: Transport,
  first: DriverRun,
) {
  const through = await run(driver, proxied, transport);
  say(`${name}: ${tally(through.outcomes.values())}`);
  let tests = unlike(first, through);
  if (tests.length > 0) {
    const again = { direct: await run(driver, direct, transport), proxied: await run(driver, proxied, transport) };
    tests = tests.filter((test) => {
      const seen = [first, again.direct].map(({ outcomes }) => outcomes.get(test));
      return ![through, again.proxied].every(({ outcomes }) => seen.includes(outcomes.get(test)));
    });
  }
  for (const test of tests) {
    console.log(`    ${test}: ${first.outcomes.get(test)} directly, ${through.outcomes.get(test)} through the proxy`);
  }
  for (const file of new Set(tests.map(fileOf))) {
    console.log(unifiedDiff(first.output.get(file) ?? "", through.output.get(file) ?? ""));
  }
  return tests.length;
}

let count = 0;
const wanted = drivers.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
if (wanted.length === 0) {
  throw new Error(`No such driver: expected some of ${drivers.map(({ name }) => name).join(", ")}`);
}
for (const server of servers.filter(({ kind }) => values.server === undefined || values.server === kind)) {
  if (server.absent) {
    say(`${server.title}: skipped, ${server.absent}`);
    continue;
  }
  await using database = await server.start();
  for (const transport of values.transport as Transport[]) {
    for (const driver of wanted) {
      const title = `${driver.name} on ${server.title} over ${transport}`;
      const absent = driverAbsent(driver);
      if (absent) {
        say(`${title}: skipped, ${absent}`);
        continue;
      }
      const direct = await run(driver, database, transport);
      say(`${title}, directly: ${tally(direct.outcomes.values())}`);
      if (values.verbose) {
        for (const [test, outcome] of direct.outcomes) if (outcome === "FAILED") console.log(`    ${test}`);
      }
      for (const strategy of values.strategy as Strategy[]) {
        await using proxy = await suiteProxy(database, transport, strategy, values.host as HostName, certificates);
        count += await compare(driver, `${title}, ${strategy} proxy`, database, proxy, transport, direct);
      }
    }
  }
}
say(count === 0 ? "No test differs" : `${count} tests differ`);
process.exit(count === 0 ? 0 : 1);
