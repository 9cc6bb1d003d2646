/**
 * Finds the php-fpm of this machine.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { accessSync, constants, readdirSync, readFileSync, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import process from "node:process";
import { CoreError } from "../../core/error.ts";

/** A php-fpm that answers `-v`. */
export interface PhpFpm {
  readonly path: string;
  /** As PHP prints it: `8.2.36`. */
  readonly version: string;
  /** As `PHP_VERSION_ID`: 80236. */
  readonly versionId: number;
}

/** What the search looks at; the machine itself unless a test says otherwise. */
export interface Look {
  /** Folders in order of preference. */
  readonly dirs: readonly string[];
  /** Names in a folder; empty when it cannot be read. */
  list(dir: string): readonly string[];
  /** Whether the path is a file this process may execute. */
  executable(path: string): boolean;
  /** What `path -v` prints; rejects when it does not run. */
  version(path: string): Promise<string>;
  /** The text of /etc/os-release, or empty. */
  osRelease(): string;
}

const systemDirs = ["/usr/local/sbin", "/usr/sbin", "/usr/local/bin", "/usr/bin", "/opt/homebrew/sbin"];

/** The machine as {@linkcode findPhpFpm} sees it: the folders of `path`, then the usual places of daemons. */
export function thisMachine(path: string = process.env["PATH"] ?? ""): Look {
  return {
    dirs: [...new Set([...path.split(delimiter).filter((dir) => dir.startsWith("/")), ...systemDirs])],
    list(dir) {
      try {
        return readdirSync(dir);
      } catch {
        return [];
      }
    },
    executable(file) {
      try {
        accessSync(file, constants.X_OK);
        return statSync(file).isFile();
      } catch {
        return false;
      }
    },
    version: (file) =>
      new Promise((done, fail) => {
        execFile(file, ["-v"], { timeout: 10_000 }, (error, out) => error ? fail(error) : done(String(out)));
      }),
    osRelease() {
      try {
        return readFileSync("/etc/os-release", "utf8");
      } catch {
        return "";
      }
    },
  };
}

/**
 * Finds php-fpm: the path or name given, else `php-fpm` (the system's own choice), else the newest versioned name
 * (`php-fpm8.4`, `php-fpm84`). A found program that does not run is passed over, unless it was the one asked for.
 *
 * @throws `PHP_NOT_FOUND` naming the package to install; `PHP_UNUSABLE` when the given program is not a php-fpm.
 */
export async function findPhpFpm(given?: string, look: Look = thisMachine()): Promise<PhpFpm> {
  const candidates = given === undefined ? installed(look) : named(given, look);
  let unusable = "";
  for (const path of candidates) {
    try {
      return read(path, await look.version(path));
    } catch (error) {
      unusable = `Cannot use ${path}: ${error instanceof Error ? error.message.trim() : String(error)}`;
      if (given !== undefined) throw new CoreError("PHP_UNUSABLE", unusable, { cause: error });
    }
  }
  const what = given === undefined ? "no php-fpm in PATH or the system folders" : `no program ${given}`;
  const also = unusable === "" ? "" : ` (${unusable})`;
  throw new CoreError("PHP_NOT_FOUND", `Cannot start PHP: ${what}${also}; ${advice(look.osRelease())}`);
}

function named(given: string, look: Look): readonly string[] {
  const paths = given.includes("/") ? [given] : look.dirs.map((dir) => join(dir, given));
  return paths.filter((path) => look.executable(path)).slice(0, 1);
}

function installed(look: Look): readonly string[] {
  const found: { path: string; rank: number }[] = [];
  for (const dir of look.dirs) {
    for (const name of look.list(dir)) {
      const match = /^php-fpm(?:(\d)\.?(\d+)?)?$/.exec(name);
      if (match === null) continue;
      const path = join(dir, name);
      const rank = match[1] === undefined ? Infinity : Number(match[1]) * 1000 + Number(match[2] ?? 0);
      if (look.executable(path)) found.push({ path, rank });
    }
  }
  return found.sort((a, b) => a.rank === b.rank ? 0 : b.rank - a.rank).map((one) => one.path);
}

function read(path: string, text: string): PhpFpm {
  const match = /^PHP (\d+)\.(\d+)\.(\d+)\S* \(([\w-]+)\)/m.exec(text);
  if (match === null) throw new CoreError("PHP_UNUSABLE", `-v does not print a PHP version`);
  if (match[4] !== "fpm-fcgi") throw new CoreError("PHP_UNUSABLE", `it is PHP's ${match[4]}, and php-fpm is needed`);
  const [major, minor, patch] = [Number(match[1]), Number(match[2]), Number(match[3])];
  return { path, version: `${major}.${minor}.${patch}`, versionId: major * 10_000 + minor * 100 + patch };
}

/** Which package to install, from /etc/os-release. */
function advice(osRelease: string): string {
  const ids = [...osRelease.matchAll(/^ID(?:_LIKE)?="?([^"\n]*)"?$/gm)].map((match) => match[1]).join(" ");
  if (/\b(debian|ubuntu)\b/.test(ids)) return "install the package php-fpm (apt install php-fpm)";
  if (/\balpine\b/.test(ids)) return "install a package php8x-fpm (apk search 'php8*-fpm', then apk add php84-fpm)";
  if (/\b(fedora|rhel|centos|amzn)\b/.test(ids)) return "install the package php-fpm (dnf install php-fpm)";
  if (/\barch\b/.test(ids)) return "install the package php-fpm (pacman -S php-fpm)";
  if (/suse/.test(ids)) return "install the package php8-fpm (zypper install php8-fpm)";
  return "install your system's php-fpm package, or give its path";
}
