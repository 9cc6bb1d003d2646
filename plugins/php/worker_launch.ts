/**
 * How a pool's workers are started, from its settings.
 *
 * @module
 */
import { existsSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { CoreError } from "../../core/error.ts";
import type { Log } from "../../core/plugin.ts";
import type { PoolSettings } from "./config.ts";
import { forkLaunch } from "./fork/launch.ts";
import { goridgeLaunch } from "./goridge/launch.ts";
import { cgiCommand, cliCommand, type Command } from "./native/command.ts";
import { type Door, openDoor } from "./native/door.ts";
import { findPhp } from "./native/find_php.ts";
import { nativeLaunch } from "./native/launch.ts";
import { phpFiles } from "./php_files.ts";
import { groupId, isRoot, poolUser, userIds } from "./runtime_dir.ts";
import type { Launch } from "./worker/handle.ts";
import { makeWorkerFolder, type WorkerFolder } from "./worker_folder.ts";
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
  readonly user: { readonly uid: number; readonly gid: number } | undefined;
  readonly protocol: WorkerProtocol;
  /** Paths are resolved anew: behind a link there may be another release by now. */
  begin(): Generation;
  close(): void;
}

/** @throws CoreError `PHP_NOT_FOUND`, `PHP_SCRIPT`, `PHP_PROTOCOL_UNKNOWN`, `PHP_USER`, `PHP_START` */
export async function makeLauncher(options: LauncherOptions): Promise<Launcher> {
  const { settings, baseDir } = options;
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
  const user = runAs(settings);
  const folder = makeWorkerFolder(user);
  let door: Door | undefined;
  try {
    door = protocol === "goridge" ? undefined : await openDoor({ software: options.software, user });
  } catch (error) {
    folder.remove();
    throw error;
  }
  const env = { ...environment(settings), FAIRLEAD_PHP: folder.php };
  options.log("info", "PHP workers", {
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
    begin: () => generation({ ...options, php: php.path, protocol, user, folder, door, env, root, script }),
    close() {
      door?.close();
      folder.remove();
    },
  };
}

interface Parts extends LauncherOptions {
  readonly php: string;
  readonly protocol: WorkerProtocol;
  readonly user: { readonly uid: number; readonly gid: number } | undefined;
  readonly folder: WorkerFolder;
  readonly door: Door | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly root: string;
  readonly script: string;
}

function generation(parts: Parts): Generation {
  const { settings, php, protocol, user, folder, env, log } = parts;
  const cwd = real(parts.root);
  const script = real(parts.script);
  if (protocol === "goridge") {
    const args = Object.entries(settings.ini).flatMap(([name, value]) => ["-d", `${name}=${plain(value)}`]);
    return {
      launch: goridgeLaunch({ script, php, args, env, cwd, user, maxBody: parts.maxBody }),
      retire: () => Promise.resolve(),
    };
  }
  const door = parts.door!;
  const command: Command = protocol === "native"
    ? cliCommand(php, script, settings.ini)
    : cgiCommand(php, join(folder.php, "runtime/frankenphp.php"), script, settings.ini, disabledFunctions);
  if (settings.isolation === "none") {
    return { launch: nativeLaunch({ command, door, env, cwd, user }), retire: () => Promise.resolve() };
  }
  const fork = forkLaunch({
    process: { argv: command.argv, env: { ...env, ...command.env }, cwd, user },
    door,
    onLine: (text) => void (text.trim() === "" || log("info", text.trim())),
    onLog: (level, text) => log((["debug", "info", "warn", "error"] as const)[level] ?? "error", text),
    onProblem: (error) => log("error", error.message, { code: error.code }),
  });
  return { launch: fork.launch, retire: () => fork.close() };
}

const disabledFunctions = (phpFiles["runtime/disabled_functions.txt"] ?? "").split(/\s+/).filter(Boolean);

const plain = (value: string | number | boolean) => value === true ? "1" : value === false ? "0" : String(value);

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** Whose processes they are, when we are root. */
function runAs({ user, group }: PoolSettings): { readonly uid: number; readonly gid: number } | undefined {
  if (!isRoot()) return undefined;
  const name = user ?? poolUser().user;
  const ids = userIds(name);
  if (ids === undefined) throw new CoreError("PHP_USER", `Cannot run PHP as ${name}: there is no such user`);
  if (group === undefined) return ids;
  const gid = groupId(group);
  if (gid === undefined) throw new CoreError("PHP_USER", `Cannot run PHP in the group ${group}: there is none`);
  return { ...ids, gid };
}

/** What programs need whoever starts them. */
const always = /^(?:PATH|HOME|USER|LOGNAME|TMPDIR|TZ|LANG|LC_\w+|PHPRC|PHP_INI_SCAN_DIR)$/;

function environment({ env, clear_env }: PoolSettings): Record<string, string> {
  const ours: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined && !name.startsWith("FAIRLEAD_") && (!clear_env || always.test(name))) ours[name] = value;
  }
  return { ...ours, ...env };
}
