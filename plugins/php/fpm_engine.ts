import type { Log } from "../../core/plugin.ts";
import type { PoolSettings } from "./config.ts";
import type { RestartReason } from "./fastcgi/child.ts";
import { greeting } from "./fastcgi/greet.ts";
import { encodeParams } from "./fastcgi/params.ts";
import { ChildPool } from "./fastcgi/pool.ts";
import { connect, parseAddress } from "./fastcgi/socket.ts";
import { findPhpFpm } from "./find.ts";
import { spoolFolders } from "./left_over.ts";
import { type FpmEvent, type FpmMaster, startFpm } from "./master.ts";
import { makePrivateFolder } from "./private_folder.ts";

/** A running php-fpm, ours or somebody else's, with one connection to each of its processes. */
export interface FpmEngine {
  readonly pool: ChildPool;
  /** A private folder for spooled request bodies. */
  readonly spoolDir: string;
  killChild(pid: number): boolean;
  /** Why PHP cannot run now, or undefined. */
  problem(): string | undefined;
  close(): Promise<void>;
}

export interface EngineOptions {
  readonly settings: PoolSettings;
  readonly children: number;
  readonly log: Log;
  onGreeted(pid: number): void;
  onRestart(reason: RestartReason): void;
}

/** Starts php-fpm and connects to every child. */
export async function ownFpm(options: EngineOptions): Promise<FpmEngine> {
  const { settings, children, log } = options;
  const php = await findPhpFpm(settings.binary);
  const late: { pool?: ChildPool } = {};
  const master = await startFpm({
    php,
    children,
    ini: settings.ini,
    // php-fpm itself keeps our environment (PHPRC, TZ, ...): what is cleared is what scripts see.
    env: { ...inherited(), ...settings.env },
    keptEnv: settings.clear_env ? Object.keys(settings.env) : undefined,
    user: settings.user,
    group: settings.group,
    // No time limit of php-fpm's own: it counts the idle time of a kept connection as a running request, and would end
    // every process that nobody has used for so long.
    catchOutput: settings.catch_output,
    scheduling: settings.scheduling,
    onEvent: (event) => tell(event, log, (pid) => late.pool?.childGone(pid)),
  });
  log("info", "php-fpm is up", { version: php.version, binary: php.path, pid: master.pid, children });
  const greet = greeting([greetingParams(master.greeting)]);
  const pool = late.pool = new ChildPool({
    size: children,
    connect: (signal) => connect({ path: master.socket }, signal),
    async greet(connection) {
      const pid = await greet(connection);
      options.onGreeted(pid);
      return pid;
    },
    killChild: (pid) => void master.killChild(pid),
    onRestart: options.onRestart,
    maxRequests: settings.max_requests,
  });
  pool.start();
  return engine(pool, master);
}

/** Our environment as PHP may see it: without our own settings, which may hold secrets. */
function inherited(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("FAIRLEAD_")));
}

function engine(pool: ChildPool, master: FpmMaster): FpmEngine {
  return {
    pool,
    spoolDir: master.runtimeDir,
    killChild: (pid) => master.killChild(pid),
    problem: () => master.problem ?? pool.problem(),
    async close() {
      // Idle connections first: a child ends when its own is closed.
      await pool.close(false);
      await master.stop({ graceful: true, deadlineMs: 5_000 });
    },
  };
}

/** Connects to a php-fpm that somebody else runs: its processes are not ours to end. */
export function useFpm(options: EngineOptions, address: string): FpmEngine {
  const at = parseAddress(address);
  // Only we read what is in it: the requests' bodies.
  const spool = makePrivateFolder(spoolFolders, false);
  const pool = new ChildPool({
    size: options.children,
    connect: (signal) => connect(at, signal),
    greet: stranger([greetingParams("/fairlead-greeting.php")]),
    killChild() {},
    onRestart: options.onRestart,
    maxRequests: options.settings.max_requests,
  });
  pool.start();
  return {
    pool,
    spoolDir: spool.path,
    killChild: () => false,
    problem: () => pool.problem(),
    async close() {
      await pool.close(false);
      spool.remove();
    },
  };
}

/**
 * Greets a php-fpm that may not read our files: that it answers "Primary script unknown" is proof enough that a
 * process has taken the connection.
 */
function stranger(params: readonly Uint8Array[]): ConstructorParameters<typeof ChildPool>[0]["greet"] {
  return (connection) =>
    new Promise((resolve, reject) => {
      connection.send({ params }, { onStdout() {}, onStderr() {}, onEnd: () => resolve(0), onFail: reject });
    });
}

function greetingParams(script: string): Uint8Array {
  return encodeParams([
    ["GATEWAY_INTERFACE", "CGI/1.1"],
    ["REQUEST_METHOD", "GET"],
    ["SCRIPT_FILENAME", script],
    ["SCRIPT_NAME", "/fairlead-greeting.php"],
    ["REQUEST_URI", "/fairlead-greeting.php"],
    ["QUERY_STRING", ""],
    ["SERVER_PROTOCOL", "HTTP/1.1"],
    ["REDIRECT_STATUS", "200"],
  ]);
}

/** php-fpm's events as lines of our log, at the level their meaning has. */
function tell(event: FpmEvent, log: Log, gone: (pid: number) => void): void {
  switch (event.kind) {
    case "ready":
      if (event.again) log("warn", "php-fpm was started again", { pid: event.pid });
      return;
    case "lost":
      return log("error", `php-fpm was lost: ${event.reason}`, { retry_ms: event.retryMs });
    case "child-started":
      return log("debug", "a PHP process started", { pid: event.pid });
    case "child-exited":
      gone(event.pid);
      return log(event.code === 0 ? "debug" : "warn", `a PHP process ${event.message}`, { pid: event.pid });
    case "child-output":
      // PHP's own error log comes with its request too, where we know which one it was.
      return event.php ? undefined : log("info", event.message, { pid: event.pid });
    case "log":
      return log(levels[event.level], event.message);
  }
}

const levels = { debug: "debug", notice: "debug", warning: "warn", error: "error", alert: "error" } as const;
