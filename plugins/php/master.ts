/**
 * Starts a php-fpm master and keeps it alive.
 *
 * @module
 */
import { type Command, type FpmEvent, type FpmOptions, launch, prepare, type Running } from "./launch.ts";
import { killChildOf, signal } from "./processes.ts";
import { isRoot, makeRuntimeDir, type RuntimeDir } from "./runtime_dir.ts";

export type { FpmEvent, FpmOptions };

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
