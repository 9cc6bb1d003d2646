/**
 * A private MariaDB: own folder, own port, own socket, gone in the end.
 *
 * @module
 */
import { execFileSync } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { type Certificates, makeCertificates } from "./certificates.ts";
import { Daemon } from "./daemon.ts";
import { type Database, type DatabaseOptions, tester } from "./database.ts";
import { freePort } from "./ports.ts";
import { RawClient } from "./raw_client.ts";

export type MariaDb = Database;

function find(...names: string[]): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/usr/local/sbin"];
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path));
}

/** Whether this machine can run {@linkcode startMariaDb}. */
export function hasMariaDb(): boolean {
  return find("mariadbd", "mysqld") !== undefined && find("mariadb-install-db", "mysql_install_db") !== undefined;
}

function mysqlUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync("id", [flag, "mysql"], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}

/** Starts a server with an empty data folder. Plugins such as `auth_ed25519` are installed by a line of `init`. */
export async function startMariaDb(options: DatabaseOptions = {}): Promise<MariaDb> {
  const program = find("mariadbd", "mysqld");
  const installer = find("mariadb-install-db", "mysql_install_db");
  if (!program || !installer) throw new Error("Cannot start MariaDB: install mariadb-server");
  const dir = mkdtempSync(join(tmpdir(), "fairlead-mariadb-"));
  const port = await freePort();
  const socket = join(dir, "s");
  const owner = mysqlUser();
  const own = (path: string) => owner && chownSync(path, owner.uid, owner.gid);
  own(dir);
  const certificates = options.tls ? makeCertificates(dir) : undefined;
  for (const name of readdirSync(dir)) own(join(dir, name));
  writeFileSync(
    join(dir, "my.cnf"),
    `[mysqld]
datadir=${dir}/data
socket=${socket}
pid_file=${dir}/pid
tmpdir=${dir}
port=${port}
bind_address=127.0.0.1
skip_name_resolve
local_infile=1
max_allowed_packet=128M
innodb_buffer_pool_size=32M
innodb_log_file_size=16M
innodb_flush_log_at_trx_commit=0
innodb_flush_method=nosync
aria_pagecache_buffer_size=8M
performance_schema=off
${owner ? "user=mysql\n" : ""}${tlsLines(certificates)}${(options.options ?? []).join("\n")}
`,
  );
  // One statement a line; privileges are off while the tables are made, until they are flushed.
  const accounts = [`'${tester.user}'@'127.0.0.1'`, `'${tester.user}'@'localhost'`];
  const statements = [
    "FLUSH PRIVILEGES",
    ...accounts.map((account) => `CREATE USER ${account} IDENTIFIED BY '${tester.password}'`),
    ...accounts.map((account) => `GRANT ALL ON *.* TO ${account} WITH GRANT OPTION`),
    "CREATE DATABASE test",
  ];
  writeFileSync(join(dir, "init.sql"), statements.map((statement) => `${statement};\n`).join(""));
  const install = () =>
    execFileSync(installer, [
      `--defaults-file=${dir}/my.cnf`,
      "--auth-root-authentication-method=normal",
      "--skip-test-db",
      `--extra-file=${dir}/init.sql`,
    ], { stdio: "pipe" });
  // Options may be about the files themselves.
  if (options.options?.length) install();
  else installOnce(join(dir, "data"), install);
  const daemon = new Daemon({ name: "MariaDB", program, args: [`--defaults-file=${dir}/my.cnf`], port });
  return await serve({ kind: "mariadb", daemon, port, socket, certificates, init: options.init, dir });
}

/**
 * Fills a data folder by `install`; or, where TEST_KEPT names a folder that lasts as long as a whole run of tests, with a
 * copy of what the first `install` made, which takes a fifth of the time.
 */
function installOnce(data: string, install: () => void): void {
  const kept = process.env["TEST_KEPT"];
  if (!kept) return void install();
  const first = join(kept, "mariadb");
  if (existsSync(first)) return copy(first, data);
  install();
  // Under its name only when it is whole: another process may be at the same.
  const part = mkdtempSync(join(kept, "part-"));
  copy(data, join(part, "data"));
  try {
    renameSync(join(part, "data"), first);
  } catch (error) {
    if (!existsSync(first)) throw error;
  }
  rmSync(part, { recursive: true, force: true });
}

/** Owners and holes in the files are kept. */
function copy(from: string, to: string): void {
  execFileSync("cp", ["-a", "--reflink=auto", "--sparse=always", from, to], { stdio: "pipe" });
}

/** The lines of `[mysqld]` for a certificate. */
export function tlsLines(certificates: Certificates | undefined): string {
  return certificates ? `ssl_ca=${certificates.ca}\nssl_cert=${certificates.cert}\nssl_key=${certificates.key}\n` : "";
}

export interface Serving {
  readonly kind: Database["kind"];
  readonly daemon: Daemon;
  readonly port: number;
  readonly socket: string;
  readonly certificates: Certificates | undefined;
  readonly init: readonly string[] | undefined;
  /** Its folder, removed in the end. */
  readonly dir: string;
}

/** Starts a server whose folder is ready, and hands it out. */
export async function serve({ kind, daemon, port, socket, certificates, init, dir }: Serving): Promise<Database> {
  const place = { host: "127.0.0.1", port, socket, ...tester } as const;
  const stop = async () => {
    await daemon.end();
    rmSync(dir, { recursive: true, force: true });
  };
  const database: Database = {
    ...place,
    kind,
    certificates,
    get pid() {
      return daemon.pid;
    },
    output: () => daemon.output(),
    async admin(...statements) {
      await using client = await RawClient.login(place, { viaSocket: true, database: "mysql" });
      let rows: (string | null)[][] = [];
      for (const statement of statements) rows = await client.rows(statement);
      return rows;
    },
    kill: () => daemon.end("SIGKILL"),
    halt: () => daemon.end(),
    start: () => daemon.start(),
    freeze: () => daemon.freeze(),
    thaw: () => daemon.thaw(),
    stop,
    [Symbol.asyncDispose]: stop,
  };
  try {
    await daemon.start();
    if (init?.length) await database.admin(...init);
    return database;
  } catch (error) {
    await stop();
    throw error;
  }
}
