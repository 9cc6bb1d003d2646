/**
 * How a pool's workers are started, from its settings.
 *
 * @module
 */
import { existsSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { CoreError } from "../../core/error.ts";
import type { Log } from "../../core/plugin.ts";
import type { PoolSettings } from "./config.ts";
import { forkLaunch } from "./fork/launch.ts";
import { goridgeLaunch } from "./goridge/launch.ts";
import { cgiCommand, cliCommand, type Command, fixedSettings } from "./native/command.ts";
import { type Door, openDoor } from "./native/door.ts";
import { disabledByIni, findPhp } from "./native/find_php.ts";
import { nativeLaunch } from "./native/launch.ts";
import { phpFiles } from "./php_files.ts";
import { closedTo } from "./readable.ts";
import { type RunAs, runAs } from "./run_as.ts";
import { requestDeadline } from "./times.ts";
import type { Launch } from "./worker/handle.ts";
import { fillWorkerFolder, type WorkerFolder } from "./worker_folder.ts";
import { detectProtocol, type WorkerProtocol } from "./worker_protocol.ts";

export interface LauncherOptions {
  readonly settings: PoolSettings;
  /** Where relative paths of the settings start. */
  readonly baseDir: string;
  /** `name/version`, for `$_SERVER`. */
  readonly software: string;
  /** The largest request body (bytes). */
  readonly maxBody: number;
  readonly log: Log;
}

/** The workers of one release: a reload begins another. */
export interface Generation {
  readonly launch: Launch;
  /** No worker of it takes a request any more. Settles when its processes are gone. */
  retire(): Promise<void>;
}

/** Starts workers of one pool. */
export interface Launcher {
  readonly folder: WorkerFolder;
  readonly user: RunAs | undefined;
  readonly protocol: WorkerProtocol | "embed";
  /** Paths are resolved anew: behind a link there may be another release by now. */
  begin(): Generation;
  close(): void;
}

/**
 * @throws CoreError `PHP_NOT_FOUND`, `PHP_UNUSABLE`, `PHP_SCRIPT`, `PHP_PROTOCOL_UNKNOWN`, `PHP_USER`, `PHP_CONFIG`, `PHP_START`;
 * `CONFIG_PHP` for settings that do not go together
 */
export async function makeLauncher(options: LauncherOptions): Promise<Launcher> {
  const { settings, baseDir, log } = options;
  const root = resolve(baseDir, settings.root ?? ".");
  const script = resolve(root, settings.script!);
  if (!existsSync(script)) throw new CoreError("PHP_SCRIPT", `Cannot start PHP workers: there is no script ${script}`);
  const protocol = settings.protocol === "auto" ? detectProtocol(script) : settings.protocol;
  if (protocol === "goridge" && settings.isolation === "fork") {
    throw new CoreError(
      "CONFIG_PHP",
      'php: isolation = "fork" is for native and frankenphp workers, not for goridge ones',
    );
  }
  const php = await findPhp(protocol === "frankenphp" ? "cgi" : "cli", settings.binary);
  const user = runAs(settings.user, settings.group);
  const closed = user === undefined ? undefined : closedTo(user, real(script));
  if (closed !== undefined) {
    throw new CoreError(
      "PHP_SCRIPT",
      `Cannot start PHP workers: they run as ${user!.name}, who may not ${
        closed === real(script) ? "read" : "enter"
      } ${closed}; open it to that user, or set php.user`,
    );
  }
  // Goridge workers need no door; but a folder with somebody at its door is one that nobody clears away.
  const door = await openDoor({ software: options.software, user });
  try {
    const folder = fillWorkerFolder(dirname(door.path), settings.ini, user);
    const scanned = settings.env["PHP_INI_SCAN_DIR"] ?? process.env["PHP_INI_SCAN_DIR"] ?? "";
    const theirs = environment(settings, user);
    const own = theirs["PHP_INI_SCAN_DIR"];
    const env = {
      ...theirs,
      FAIRLEAD_PHP: folder.php,
      // What the application finds in its environment, and a PHP that it starts.
      ...(own === undefined ? {} : { FAIRLEAD_INI_SCAN_DIR: own }),
      // An empty part stands for the folder that PHP was built with.
      PHP_INI_SCAN_DIR: `${scanned}:${folder.ini}`,
    };
    const disabled = protocol === "frankenphp" ? [...disabledFunctions, ...await disabledByIni(php.path, env)] : [];
    log("info", "PHP workers", {
      script,
      protocol,
      isolation: settings.isolation,
      php: php.path,
      version: php.version,
    });
    return {
      folder,
      user,
      protocol,
      begin: () => generation({ ...options, php: php.path, protocol, user, folder, door, env, root, script, disabled }),
      close: () => door.close(),
    };
  } catch (error) {
    door.close();
    throw error;
  }
}

interface Parts extends LauncherOptions {
  readonly php: string;
  readonly protocol: WorkerProtocol;
  readonly user: RunAs | undefined;
  readonly folder: WorkerFolder;
  readonly door: Door;
  readonly env: Readonly<Record<string, string>>;
  readonly root: string;
  readonly script: string;
  readonly disabled: readonly string[];
}

function generation(parts: Parts): Generation {
  const { settings, php, protocol, user, folder, door, log } = parts;
  const { scheduling } = settings;
  const cwd = real(parts.root);
  const env = protocol !== "frankenphp" ? parts.env : {
    // Symfony's runner ends by itself behind 500 requests, and then a worker is missing until another has booted: ours is there before.
    ...(settings.max_requests > 0 ? { FRANKENPHP_LOOP_MAX: "0" } : {}),
    ...parts.env,
    FAIRLEAD_ROOT: cwd,
  };
  const script = real(parts.script);
  // On the command line, which everybody can read, stand only settings that must override all files.
  const ini = Object.fromEntries(Object.entries(settings.ini).filter(([name]) => fixedSettings.has(name)));
  if (protocol === "goridge") {
    const args = Object.entries(ini).flatMap(([name, value]) => ["-d", `${name}=${plain(value)}`]);
    return {
      launch: goridgeLaunch({
        ...{ script, php, args, env, cwd, user, scheduling, maxBody: parts.maxBody },
        keepAwakeMs: keepAwakeMs(settings.ini["default_socket_timeout"]),
        // These workers fill $_SERVER themselves, from the headers.
        attributes: ({ x }) => ({ REQUEST_DEADLINE: requestDeadline(x).toFixed(3) }),
      }),
      retire: () => Promise.resolve(),
    };
  }
  const command: Command = protocol === "native"
    ? cliCommand(php, script, ini)
    : cgiCommand(php, join(folder.php, "runtime/frankenphp.php"), script, ini, parts.disabled);
  if (settings.isolation === "none") {
    const launch = nativeLaunch({
      command,
      door,
      env,
      cwd,
      user,
      scheduling,
      onLog: ({ level, message, context }, pid) => log(level, message, { pid, ...(context === "" ? {} : { context }) }),
    });
    return { launch, retire: () => Promise.resolve() };
  }
  const fork = forkLaunch({
    process: { argv: command.argv, env: { ...env, ...command.env }, cwd, user, scheduling },
    door,
    onLine: (text) => void (text.trim() === "" || log("info", text.trim())),
    onLog: (level, text) => log((["debug", "info", "warn", "error"] as const)[level] ?? "error", text),
    onProblem: (error) => log("error", error.message, { code: error.code }),
  });
  return { launch: fork.launch, retire: () => fork.close() };
}

const disabledFunctions = (phpFiles["runtime/disabled_functions.txt"] ?? "").split(/\s+/).filter(Boolean);

/** Often enough for a read of PHP's that ends after so many seconds; undefined where the usual is right. */
function keepAwakeMs(timeout: string | number | boolean | undefined): number | undefined {
  const seconds = Number(timeout);
  return seconds > 0 && seconds < 45 ? seconds * 1000 / 3 : undefined;
}

const plain = (value: string | number | boolean) => value === true ? "1" : value === false ? "0" : String(value);

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** What programs need whoever starts them. */
const always = /^(?:PATH|TMPDIR|TZ|LANG|LC_\w+|PHPRC)$/;
/** What belongs to whoever runs them. */
const personal = /^(?:HOME|USER|LOGNAME)$/;

/** What a pool's processes have in their environment. */
export function environment({ env, clear_env }: PoolSettings, user: RunAs | undefined): Record<string, string> {
  const ours: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (value === undefined || name.startsWith("FAIRLEAD_")) continue;
    if (!clear_env || always.test(name) || personal.test(name)) ours[name] = value;
  }
  const theirs = user === undefined ? {} : { HOME: user.home, USER: user.name, LOGNAME: user.name };
  return { ...ours, ...theirs, ...env };
}
