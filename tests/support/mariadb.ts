/**
 * A private MariaDB: own folder, own port, own socket, gone in the end.
 *
 * @module
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { freePort } from "./ports.ts";
import { waitFor, within } from "./wait.ts";

export interface MariaDb {
  readonly host: "127.0.0.1";
  readonly port: number;
  readonly socket: string;
  /** A user with every privilege, from the loopback address and over the socket. */
  readonly user: string;
  readonly password: string;
  readonly pid: number;
  output(): string;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

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

/** Starts a server with an empty data folder; `options` are more lines for its `[mysqld]`, such as `max_connections=20`. */
export async function startMariaDb(options: readonly string[] = []): Promise<MariaDb> {
  const program = find("mariadbd", "mysqld");
  const installer = find("mariadb-install-db", "mysql_install_db");
  if (!program || !installer) throw new Error("Cannot start MariaDB: install mariadb-server");
  const dir = mkdtempSync(join(tmpdir(), "fairlead-mariadb-"));
  const port = await freePort();
  const socket = join(dir, "s");
  const [user, password] = ["tester", "tester-password"];
  const owner = mysqlUser();
  if (owner) chownSync(dir, owner.uid, owner.gid);
  writeFileSync(
    join(dir, "my.cnf"),
    `[mysqld]
datadir=${dir}/data
socket=${socket}
pid_file=${dir}/pid
port=${port}
bind_address=127.0.0.1
skip_name_resolve
innodb_buffer_pool_size=32M
innodb_log_file_size=16M
innodb_flush_log_at_trx_commit=0
innodb_flush_method=nosync
aria_pagecache_buffer_size=8M
performance_schema=off
${owner ? "user=mysql\n" : ""}${options.join("\n")}
`,
  );
  // One statement a line; privileges are off while the tables are made, until they are flushed.
  const accounts = [`'${user}'@'127.0.0.1'`, `'${user}'@'localhost'`];
  const statements = [
    "FLUSH PRIVILEGES",
    ...accounts.map((account) => `CREATE USER ${account} IDENTIFIED BY '${password}'`),
    ...accounts.map((account) => `GRANT ALL ON *.* TO ${account} WITH GRANT OPTION`),
  ];
  writeFileSync(join(dir, "init.sql"), statements.map((statement) => `${statement};\n`).join(""));
  execFileSync(installer, [
    `--defaults-file=${dir}/my.cnf`,
    "--auth-root-authentication-method=normal",
    "--skip-test-db",
    `--extra-file=${dir}/init.sql`,
  ], { stdio: "pipe" });

  const child: ChildProcess = spawn(program, [`--defaults-file=${dir}/my.cnf`], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.on("data", (bytes: Uint8Array) => output = (output + new TextDecoder().decode(bytes)).slice(-100_000));
  }
  let ended = false;
  const exited = new Promise<void>((done) =>
    child.once("exit", () => {
      ended = true;
      done();
    })
  );
  const stop = async () => {
    if (!ended) {
      child.kill("SIGTERM");
      await within(20_000, "The end of MariaDB", exited).catch(() => child.kill("SIGKILL"));
      await exited;
    }
    rmSync(dir, { recursive: true, force: true });
  };
  try {
    await waitFor(() => {
      if (ended) return true;
      return greets(port);
    }, { what: "MariaDB to greet", timeout: 30_000 });
    if (ended) throw new Error("MariaDB ended at once");
  } catch (error) {
    await stop();
    throw new Error(`${(error as Error).message}\n--- output of ${program} ---\n${output}`);
  }
  return {
    host: "127.0.0.1",
    port,
    socket,
    user,
    password,
    pid: child.pid!,
    output: () => output,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Whether the server says the first word, as it does once it can take a login. */
function greets(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("data", () => settle(true));
    for (const event of ["error", "close"]) socket.once(event, () => settle(false));
  });
}
