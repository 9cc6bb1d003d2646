/**
 * Starts a php-fpm master and keeps it alive.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import process from "node:process";
import { CoreError } from "../../core/error.ts";
import { type FpmConfig, type Ini, renderFpmConfig, startupOptions } from "./fpm_config.ts";
import { type FpmLine, fpmLineParser, lineSplitter } from "./fpm_log.ts";
import type { PhpFpm } from "./find.ts";
import { killChildOf, signal, tiedToUs } from "./processes.ts";
import { isRoot, makeRuntimeDir, poolUser, type RuntimeDir } from "./runtime_dir.ts";

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
  /** The whole environment of PHP; that of this process when absent. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Used as root only: www-data where it exists, else nobody. */
  readonly user?: string | undefined;
  readonly group?: string | undefined;
  readonly terminateTimeoutS?: number | undefined;
  /** The folder to make the private folder in. */
  readonly tempDir?: string | undefined;
  /** 10 seconds when absent. */
  readonly startTimeoutMs?: number | undefined;
  /** Wait before the n-th try (from 1) to replace a master that died. */
  readonly backoffMs?: ((failures: number) => number) | undefined;
  /** Must not throw. */
  onEvent(event: FpmEvent): void;
}

export interface FpmMaster {
  /** The unix socket to connect to: the same for as long as this object lives. */
  readonly socket: string;
  /** Answers `/status` while every child is busy; undefined before PHP 8.0. */
  readonly statusSocket: string | undefined;
  /** SCRIPT_FILENAME of a script that prints the pid of its child. */
  readonly greeting: string;
  readonly runtimeDir: string;
  /** Pid of the running master; undefined while there is none. */
  readonly pid: number | undefined;
  /** Why PHP is not available, or undefined when it is. */
  readonly problem: string | undefined;
  /** Kills a child at once; false when `pid` is not a child of the running master. php-fpm starts another. */
  killChild(pid: number): boolean;
  /**
   * Ends php-fpm and removes its folder. `graceful` (the default) lets requests end for `deadlineMs` (30 s); children
   * on an idle kept connection end only when that is closed, so close those first. Never rejects.
   */
  stop(how?: { readonly graceful?: boolean; readonly deadlineMs?: number }): Promise<void>;
}

/** 0.1, 0.2, 0.4, ... at most 10 seconds. */
const doubling = (failures: number): number => Math.min(10_000, 100 * 2 ** (failures - 1));
/** A master that lived this long was well: its death counts as the first failure. */
const wellMs = 10_000;

/**
 * Starts php-fpm on a private socket and waits until it takes connections.
 *
 * @throws `PHP_START` with php-fpm's own words; `PHP_CONFIG` for a setting that cannot be written.
 */
export async function startFpm(options: FpmOptions): Promise<FpmMaster> {
  const root = isRoot();
  const dir = makeRuntimeDir(root, options.tempDir);
  try {
    const command = await prepare(options, dir, root);
    const first = await launch(command, dir, options);
    return supervise(first, command, dir, options);
  } catch (error) {
    dir.remove();
    throw error;
  }
}

interface Command {
  readonly argv: readonly [string, ...string[]];
  readonly env: Record<string, string>;
}

async function prepare(options: FpmOptions, dir: RuntimeDir, root: boolean): Promise<Command> {
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

interface Running {
  readonly pid: number;
  readonly since: number;
  /** Settles with the reason when the process has ended and its output has been read. */
  readonly ended: Promise<string>;
}

/** Starts one master; settles once it takes connections. On failure nothing of it is left running. */
function launch(command: Command, dir: RuntimeDir, options: FpmOptions): Promise<Running> {
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

function supervise(first: Running, command: Command, dir: RuntimeDir, options: FpmOptions): FpmMaster {
  const backoff = options.backoffMs ?? doubling;
  let running: Running | undefined;
  let problem: string | undefined;
  let failures = 0;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let stopping: Promise<void> | undefined;
  let launching: Promise<void> | undefined;

  const adopt = (master: Running, again: boolean) => {
    running = master;
    problem = undefined;
    options.onEvent({ kind: "ready", pid: master.pid, again });
    master.ended.then((reason) => {
      running = undefined;
      if (performance.now() - master.since > wellMs) failures = 0;
      lost(`php-fpm ${reason}`);
    });
  };
  const lost = (reason: string) => {
    problem = reason;
    if (stopping !== undefined) return;
    failures++;
    const retryMs = backoff(failures);
    options.onEvent({ kind: "lost", reason, retryMs });
    retry = setTimeout(() => {
      launching = launch(command, dir, options).then(
        (master) => adopt(master, true),
        (error: Error) => lost(error.message),
      ).finally(() => launching = undefined);
    }, retryMs);
  };
  const stop = async (graceful: boolean, deadlineMs: number) => {
    clearTimeout(retry);
    await launching;
    if (running !== undefined) await endMaster(running, graceful, deadlineMs);
    problem = "stopped";
    dir.remove();
  };

  adopt(first, false);
  return {
    socket: dir.socket,
    statusSocket: options.php.versionId >= 80_000 ? dir.statusSocket : undefined,
    greeting: dir.greeting,
    runtimeDir: dir.path,
    get pid() {
      return running?.pid;
    },
    get problem() {
      return problem;
    },
    killChild: (pid) => running !== undefined && killChildOf(running.pid, pid),
    stop: ({ graceful = true, deadlineMs = 30_000 } = {}) => stopping ??= stop(graceful, deadlineMs),
  };
}

/** Quit (requests end), then terminate, then kill: each when the one before was not enough. */
async function endMaster(master: Running, graceful: boolean, deadlineMs: number): Promise<void> {
  const within = (ms: number) => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<boolean>((done) => timer = setTimeout(() => done(false), ms));
    return Promise.race([master.ended.then(() => true), late]).finally(() => clearTimeout(timer));
  };
  if (graceful) {
    signal(master.pid, "SIGQUIT");
    if (await within(deadlineMs)) return;
  }
  signal(master.pid, "SIGTERM");
  if (await within(2_000)) return;
  signal(-master.pid, "SIGKILL");
  await master.ended;
}
