/**
 * The own tests of other languages' drivers, from the distribution's source packages of the installed ones, against a place.
 *
 * @module
 */
import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Place } from "./database.ts";
import { debianSource, type SourceOptions } from "./debian_source.ts";
import type { Transport } from "./php_db_suites.ts";

export type DriverOutcome = "PASSED" | "FAILED" | "SKIPPED";

export interface DriverRun {
  /** Each assertion of a file, or each test, by name. */
  readonly outcomes: ReadonlyMap<string, DriverOutcome>;
  /** All that was printed, by file. */
  readonly output: ReadonlyMap<string, string>;
}

export interface Driver {
  readonly name: string;
  /** What must be installed; found by running this, which then ends with 0. */
  readonly needs: { readonly command: readonly string[]; readonly packages: string };
  readonly source: SourceOptions;
  /** Runs the tests in a folder of their own. */
  run(dir: string, place: Place, transport: Transport): Promise<DriverRun>;
}

/** Why a driver's tests cannot run here; undefined when they can. */
export function driverAbsent(driver: Driver): string | undefined {
  const [program = "", ...args] = driver.needs.command;
  return spawnSync(program, args).status === 0 ? undefined : `install ${driver.needs.packages}`;
}

/** One run, in a copy of the tests. The schema `test` must be there and empty, with utf8mb4_unicode_ci. */
export async function runDriver(driver: Driver, place: Place, transport: Transport): Promise<DriverRun> {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-driver-"));
  try {
    cpSync(debianSource(driver.source).dir, dir, { recursive: true });
    const run = await driver.run(dir, place, transport);
    if (run.outcomes.size === 0) {
      throw new Error(`No test of ${driver.name} ran:\n${[...run.output.values()].join("\n")}`);
    }
    return run;
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function command(dir: string, program: string, args: readonly string[], env: Record<string, string> = {}) {
  return new Promise<{ code: number; output: string }>((resolve, reject) => {
    const child = spawn(program, [...args], {
      cwd: dir,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 120_000,
    });
    let output = "";
    for (const stream of [child.stdout!, child.stderr!]) stream.on("data", (bytes) => output += String(bytes));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code: code ?? -1, output }));
  });
}

/** A Perl driver, whose tests print TAP. */
function perl(module: "mysql" | "MariaDB", source: SourceOptions): Driver {
  const socketKey = module === "mysql" ? "mysql_socket" : "mariadb_socket";
  return {
    name: `DBD::${module}`,
    needs: { command: ["perl", `-MDBD::${module}`, "-e", "1"], packages: source.binary },
    source,
    async run(dir, place, transport) {
      const where = transport === "socket" ? `${socketKey}=${place.socket}` : `host=${place.host};port=${place.port}`;
      // What its Makefile.PL writes for the tests.
      const told: Record<string, string> = {
        test_host: transport === "socket" ? "" : place.host,
        test_port: transport === "socket" ? "" : String(place.port),
        test_socket: transport === "socket" ? place.socket : "",
        test_user: place.user,
        test_password: place.password,
        test_db: "test",
        test_dsn: `DBI:${module}:database=test;${where}`,
      };
      const lines = Object.entries(told).map(([name, value]) => `$::${name} = '${value}';\n`);
      writeFileSync(join(dir, "t", `${module}.mtest`), `${lines.join("")}1;\n`);
      const outcomes = new Map<string, DriverOutcome>(), said = new Map<string, string>();
      for (const file of readdirSync(join(dir, "t")).filter((name) => name.endsWith(".t")).sort()) {
        const { code, output } = await command(dir, "perl", ["-I.", join("t", file)], { PERL_DBI_DEBUG: "0" });
        said.set(file, output);
        for (const [, not, number, rest] of output.matchAll(/^(not )?ok (\d+)(.*)$/gm)) {
          const skipped = /# (?:skip|todo)/i.test(rest!);
          outcomes.set(`${file}:${number}`, skipped ? "SKIPPED" : not ? "FAILED" : "PASSED");
        }
        const none = /^1\.\.0 # skip/im.test(output);
        outcomes.set(`${file}: as a whole`, none ? "SKIPPED" : code === 0 ? "PASSED" : "FAILED");
      }
      return { outcomes, output: said };
    },
  };
}

const mysqlclient: Driver = {
  name: "mysqlclient",
  needs: {
    command: ["/usr/bin/python3", "-c", "import MySQLdb, pytest"],
    packages: "python3-mysqldb and python3-pytest",
  },
  source: { name: "python-mysqldb", binary: "python3-mysqldb", prefix: "mysqlclient-", wanted: ["tests"] },
  async run(dir, place, transport) {
    const where = transport === "socket" ? `socket=${place.socket}` : `host=${place.host}\nport=${place.port}`;
    writeFileSync(
      join(dir, "tests", "default.cnf"),
      `[MySQLdb-tests]\n${where}\nuser=${place.user}\npassword=${place.password}\ndatabase=test\n` +
        "default-character-set=utf8mb4\n",
    );
    // The one that is left out asks for nothing of a server, but for a package of its own.
    const { output } = await command(dir, "/usr/bin/python3", [
      "-m",
      "pytest",
      "-v",
      "--ignore=tests/test_MySQLdb_times.py",
      "--tb=short",
      "-p",
      "no:cacheprovider",
      "tests",
    ]);
    const outcomes = new Map<string, DriverOutcome>();
    for (const [, test, word] of output.matchAll(/^(tests\/\S+) (PASSED|FAILED|ERROR|SKIPPED|XFAIL)/gm)) {
      outcomes.set(test!, word === "PASSED" ? "PASSED" : word === "SKIPPED" || word === "XFAIL" ? "SKIPPED" : "FAILED");
    }
    return { outcomes, output: new Map([["tests", output]]) };
  },
};

export const drivers: readonly Driver[] = [
  perl("mysql", { name: "libdbd-mysql-perl", binary: "libdbd-mysql-perl", prefix: "dbd-mysql-", wanted: ["t"] }),
  perl("MariaDB", {
    name: "libdbd-mariadb-perl",
    binary: "libdbd-mariadb-perl",
    prefix: "dbd-mariadb-",
    wanted: ["t"],
  }),
  mysqlclient,
];

/** The file a test's output is kept under. */
export const fileOf = (test: string): string => test.startsWith("tests/") ? "tests" : test.split(":")[0]!;
