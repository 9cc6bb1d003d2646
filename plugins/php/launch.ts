/**
 * One run of a php-fpm master: its command, its start, its words and its end.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import process from "node:process";
import { CoreError } from "../../core/error.ts";
import type { PhpFpm } from "./find.ts";
import { type FpmConfig, type Ini, renderFpmConfig, startupOptions } from "./fpm_config.ts";
import { type FpmLine, fpmLineParser, lineSplitter } from "./fpm_log.ts";
import { signal, tiedToUs } from "./processes.ts";
import { poolUser, type RuntimeDir } from "./runtime_dir.ts";
import { schedule, type Scheduling } from "./scheduling.ts";

export type FpmEvent =
  | FpmLine
  /** A master takes connections. `again` when it replaces one that died. */
  | { readonly kind: "ready"; readonly pid: number; readonly again: boolean }
  /** The master died, or its replacement did not start; the next one comes in `retryMs`. */
  | { readonly kind: "lost"; readonly reason: string; readonly retryMs: number };

export interface FpmOptions {
  readonly php: PhpFpm;
  readonly children: number;
  /** Name of the pool in php-fpm's log; `www` when absent. */
  readonly pool?: string | undefined;
  readonly ini?: Ini | undefined;
  readonly adminIni?: Ini | undefined;
  /** The whole environment of php-fpm; that of this process when absent. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** As in {@linkcode FpmConfig}. */
  readonly keptEnv?: readonly string[] | undefined;
  /** Used as root only: www-data where it exists, else nobody. */
  readonly user?: string | undefined;
  readonly group?: string | undefined;
  readonly terminateTimeoutS?: number | undefined;
  /** As in {@linkcode FpmConfig}. */
  readonly catchOutput?: boolean | undefined;
  /** As the kernel has it when absent. */
  readonly scheduling?: Scheduling | undefined;
  /** The folder to make the private folder in. */
  readonly tempDir?: string | undefined;
  /** 10 seconds when absent. */
  readonly startTimeoutMs?: number | undefined;
  /** Wait before the n-th try (from 1) to replace a master that died. */
  readonly backoffMs?: ((failures: number) => number) | undefined;
  /** Must not throw. */
  onEvent(event: FpmEvent): void;
}

/** What starts a master. */
export interface Command {
  readonly argv: readonly [string, ...string[]];
  readonly env: Record<string, string>;
}

/** Writes the configuration, and says how to start a master with it. */
export async function prepare(options: FpmOptions, dir: RuntimeDir, root: boolean): Promise<Command> {
  const owner = root ? poolUser() : undefined;
  const config: FpmConfig = {
    pool: options.pool ?? "www",
    listen: dir.socket,
    children: options.children,
    ini: reaching(dir.path, options.ini),
    adminIni: reaching(dir.path, options.adminIni),
    user: root ? options.user ?? owner?.user : undefined,
    group: root ? options.group ?? (options.user === undefined ? owner?.group : undefined) : undefined,
    terminateTimeoutS: options.terminateTimeoutS,
    catchOutput: options.catchOutput,
    keptEnv: options.keptEnv,
    statusListen: options.php.versionId >= 80_000 ? dir.statusSocket : undefined,
  };
  writeFileSync(dir.config, renderFpmConfig(config), { mode: 0o600 });
  const run = [options.php.path, "-F", "-O", "-y", dir.config, ...startupOptions(config)];
  const [program = options.php.path, ...rest] = [...await tiedToUs(), ...run];
  return { argv: [program, ...rest], env: environment(options.env ?? process.env) };
}

/** Lets `open_basedir`, when the site sets it, include the greeting. */
function reaching(dir: string, ini: Ini | undefined): Ini | undefined {
  const roots = ini?.["open_basedir"];
  return typeof roots === "string" && roots !== "" ? { ...ini, open_basedir: `${roots}:${dir}` } : ini;
}

/**
 * What PHP inherits. php-fpm itself would act on three names: sockets to take over, and a service manager to report
 * to in our name.
 */
function environment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const clean: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || /^(?:FPM_SOCKETS|NOTIFY_SOCKET|LISTEN_(?:FDS|PID|FDNAMES)|WATCHDOG_\w+)$/.test(name)) {
      continue;
    }
    if (name === "" || name.includes("=") || name.includes("\0") || value.includes("\0")) {
      throw new CoreError(
        "PHP_CONFIG",
        `Cannot configure PHP: environment variable ${JSON.stringify(name)} has a NUL or =`,
      );
    }
    clean[name] = value;
  }
  return clean;
}

/** A master that takes connections. */
export interface Running {
  readonly pid: number;
  readonly since: number;
  /** Settles with the reason when the process has ended and its output has been read. */
  readonly ended: Promise<string>;
}

/** Starts one master; settles once it takes connections. On failure nothing of it is left running. */
export function launch(command: Command, dir: RuntimeDir, options: FpmOptions): Promise<Running> {
  const [program, ...args] = command.argv;
  // While a dead master's children live, its socket still takes connections: that would pass for readiness.
  for (const socket of [dir.socket, dir.statusSocket]) rmSync(socket, { force: true });
  return new Promise((ready, fail) => {
    // A group of its own: a Ctrl+C in the terminal is ours to handle, and a dead master's children can be found.
    const child: ChildProcess = spawn(program, args, {
      env: command.env,
      stdio: ["ignore", "ignore", "pipe"],
      detached: true,
    });
    schedule(child.pid, options.scheduling);
    const words: string[] = [];
    const parse = fpmLineParser();
    child.stderr?.on(
      "data",
      lineSplitter((text) => {
        const line = parse(text);
        if (line === undefined) return;
        if (line.kind === "log" && (line.level === "error" || line.level === "alert") && words.length < 20) {
          words.push(line.message);
        }
        options.onEvent(line);
      }),
    );
    let over = false;
    const ended = new Promise<string>((done) => {
      const end = (how: string) => {
        const said = words.filter((word) => word !== "FPM initialization failed");
        done(said.length > 0 ? `${said.join("; ")} (${how})` : how);
      };
      child.once("error", (error) => {
        over = true;
        end(`it does not run: ${error.message}`);
      });
      child.once("exit", (code, name) => {
        over = true;
        // Its children hold stderr too. Once they are gone it closes, and the last words are in; a program that PHP
        // started and that left the group may keep it open.
        if (child.pid !== undefined) signal(-child.pid, "SIGKILL");
        const late = setTimeout(close, 500);
        child.once("close", close);
        function close(): void {
          clearTimeout(late);
          end(name ? `ended by ${name}` : `ended with code ${code}`);
        }
      });
    });
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      if (child.pid !== undefined) signal(-child.pid, "SIGKILL");
    }, options.startTimeoutMs ?? 10_000);
    ended.then((reason) => {
      clearTimeout(timer);
      const why = timedOut ? `no answer on its socket in ${options.startTimeoutMs ?? 10_000} ms; ${reason}` : reason;
      fail(new CoreError("PHP_START", `Cannot start ${options.php.path}: ${why}`));
    });
    const knock = () => {
      if (over) return;
      const socket = connect(dir.socket);
      socket.once("connect", () => {
        socket.destroy();
        clearTimeout(timer);
        if (child.pid !== undefined) ready({ pid: child.pid, since: performance.now(), ended });
      });
      socket.once("error", () => {
        socket.destroy();
        setTimeout(knock, 5);
      });
    };
    knock();
  });
}
