/**
 * The databases' own command line programs, run against a place over TCP.
 *
 * @module
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";
import type { Place } from "./database.ts";
import { mysql9Absent, mysql9Root } from "./mysql9.ts";
import { within } from "./wait.ts";

export interface CliTools {
  readonly title: string;
  /** The interactive client as a command. */
  readonly client: readonly string[];
  readonly dump: readonly string[];
}

const installed = (name: string) =>
  (process.env["PATH"] ?? "").split(delimiter).some((folder) => existsSync(join(folder, name)));

const mariadb: CliTools = { title: "mariadb", client: ["mariadb"], dump: ["mariadb-dump"] };
const mysql: CliTools = {
  title: "mysql",
  client: ["chroot", mysql9Root, "mysql"],
  dump: ["chroot", mysql9Root, "mysqldump"],
};

/** The programs that are here for a kind of server. */
export function cliTools(kind: "mariadb" | "mysql"): CliTools[] {
  const own = installed("mariadb") ? [mariadb] : [];
  return kind === "mysql" && mysql9Absent() === undefined ? [...own, mysql] : own;
}

export interface CliRun {
  readonly pid: number;
  readonly ended: Promise<CliResult>;
}

export interface CliResult {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

/** Starts one of the programs; `input` is its standard input. What it writes is read as Latin-1: byte for byte. */
export function startCli(
  [program, ...before]: readonly string[],
  place: Place,
  args: readonly string[],
  input = "",
): CliRun {
  const login = [`--host=${place.host}`, `--port=${place.port}`, "--protocol=tcp", `--user=${place.user}`];
  const child = spawn(program!, [...before, "--no-defaults", ...login, ...args], {
    env: { ...process.env, MYSQL_PWD: place.password },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let [output, errors] = ["", ""];
  child.stdout.setEncoding("latin1").on("data", (text: string) => output += text);
  child.stderr.setEncoding("utf8").on("data", (text: string) => errors += text);
  // A program that ends early does not read it all.
  child.stdin.on("error", () => {});
  child.stdin.end(input, "latin1");
  const ended = new Promise<CliResult>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, output, errors }));
  });
  return { pid: child.pid ?? -1, ended };
}

/** What a program wrote when it has ended well; fails with its own words otherwise. */
export async function cli(
  command: readonly string[],
  place: Place,
  args: readonly string[],
  input = "",
): Promise<string> {
  const { code, output, errors } = await within(60_000, command.join(" "), startCli(command, place, args, input).ended);
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}: ${errors}`);
  return output;
}
