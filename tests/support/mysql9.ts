/**
 * A private MySQL 9 in a chroot made by `scripts/mysql9.mjs`: own data folder, port and socket, gone in the end.
 *
 * @module
 */
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import process from "node:process";
import { type Certificates, makeCertificates } from "./certificates.ts";
import { Daemon } from "./daemon.ts";
import { type Database, type DatabaseOptions, tester } from "./database.ts";
import { serve, tlsLines } from "./mariadb.ts";
import { freePort } from "./ports.ts";

/** The chroot's folder. */
export const mysql9Root: string = process.env["TEST_MYSQL9"] ?? "/srv/fairlead-mysql9";

/** Why this machine cannot run MySQL 9, as a test's name shall say it; undefined when it can. */
export function mysql9Absent(): string | undefined {
  if (!existsSync(join(mysql9Root, "usr/sbin/mysqld"))) return `no MySQL 9 in ${mysql9Root}: see scripts/mysql9.mjs`;
  return process.getuid?.() === 0 ? undefined : "MySQL 9 runs in a chroot, which needs root";
}

const inside = (...args: string[]) => execFileSync("chroot", [mysql9Root, ...args], { stdio: "pipe" });

/** A data folder with the tests' user in it, made once for each build of the server. */
async function template(): Promise<string> {
  const built = Math.round(statSync(join(mysql9Root, "usr/sbin/mysqld")).mtimeMs / 1000);
  const path = join(mysql9Root, "tmp", `fairlead-template-${built}`);
  if (existsSync(path)) return path;
  // Others may make it too: the first to be done gives it its name.
  const part = mkdtempSync(`${path}-`);
  const name = `/tmp/${basename(part)}`;
  const accounts = [`'${tester.user}'@'127.0.0.1'`, `'${tester.user}'@'localhost'`];
  writeFileSync(
    join(part, "init.sql"),
    [
      ...accounts.map((account) => `CREATE USER ${account} IDENTIFIED BY '${tester.password}'`),
      ...accounts.map((account) => `GRANT ALL ON *.* TO ${account} WITH GRANT OPTION`),
      "CREATE DATABASE test",
    ].map((statement) => `${statement};\n`).join(""),
  );
  inside("chown", "-R", "mysql:", name);
  inside(
    "mysqld",
    "--no-defaults",
    "--initialize-insecure",
    "--user=mysql",
    `--datadir=${name}/data`,
    `--init-file=${name}/init.sql`,
    "--innodb-redo-log-capacity=16M",
    "--innodb-flush-method=nosync",
  );
  // Each server makes an id of its own.
  rmSync(join(part, "data/auto.cnf"), { force: true });
  try {
    renameSync(join(part, "data"), path);
  } catch (error) {
    if (!existsSync(path)) throw error;
  }
  rmSync(part, { recursive: true, force: true });
  return path;
}

/** Starts a server with an empty data folder. */
export async function startMysql9(options: DatabaseOptions = {}): Promise<Database> {
  const absent = mysql9Absent();
  if (absent) throw new Error(`Cannot start MySQL 9: ${absent}`);
  const data = await template();
  const dir = mkdtempSync(join(mysql9Root, "tmp", "f-"));
  const name = `/tmp/${basename(dir)}`;
  cpSync(data, join(dir, "data"), { recursive: true });
  let certificates: Certificates | undefined;
  if (options.tls) {
    mkdirSync(join(dir, "tls"));
    certificates = makeCertificates(join(dir, "tls"));
  }
  const port = await freePort();
  const seen = certificates &&
    { ...certificates, ca: `${name}/tls/ca.pem`, cert: `${name}/tls/server.pem`, key: `${name}/tls/server-key.pem` };
  writeFileSync(
    join(dir, "my.cnf"),
    `[mysqld]
user=mysql
datadir=${name}/data
socket=${name}/s
pid_file=${name}/pid
port=${port}
bind_address=127.0.0.1
skip_name_resolve
mysqlx=off
secure_file_priv=
local_infile=1
max_allowed_packet=128M
innodb_buffer_pool_size=32M
innodb_redo_log_capacity=16M
innodb_flush_log_at_trx_commit=0
performance_schema=off
innodb_flush_method=nosync
skip_log_bin
${tlsLines(seen)}${(options.options ?? []).join("\n")}
`,
  );
  inside("chown", "-R", "mysql:", name);
  const daemon = new Daemon({
    name: "MySQL 9",
    program: "/usr/sbin/chroot",
    args: [mysql9Root, "mysqld", `--defaults-file=${name}/my.cnf`],
    port,
  });
  return await serve({ kind: "mysql", daemon, port, socket: join(dir, "s"), certificates, init: options.init, dir });
}
