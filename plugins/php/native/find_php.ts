/**
 * Finds the PHP programs that workers run on.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { CoreError } from "../../../core/error.ts";
import { type Look, thisMachine } from "../find.ts";

/** `cli`: `php`; `cgi`: `php-cgi`. */
export type PhpKind = "cli" | "cgi";

export interface Php {
  readonly path: string;
  /** As PHP prints it: `8.2.36`. */
  readonly version: string;
  /** As `PHP_VERSION_ID`: 80236. */
  readonly versionId: number;
}

const programs = { cli: "php", cgi: "php-cgi" } as const;
const sapis = { cli: "cli", cgi: "cgi-fcgi" } as const;
/** The oldest PHP that workers run on. */
const oldest = 80_100;

/**
 * Finds PHP: the path or name given, else the system's own choice (`php`, `php-cgi`), else the newest versioned name
 * (`php8.4`, `php-cgi84`). A found program that does not run is passed over, unless it was the one asked for.
 *
 * @throws `PHP_NOT_FOUND` naming the package to install; `PHP_UNUSABLE` when the given program is not the right one.
 */
export async function findPhp(kind: PhpKind, given?: string, look: Look = thisMachine()): Promise<Php> {
  const candidates = given === undefined ? installed(kind, look) : named(given, look);
  let unusable = "";
  for (const path of candidates) {
    try {
      return read(kind, path, await look.version(path));
    } catch (error) {
      unusable = `Cannot use ${path}: ${error instanceof Error ? error.message.trim() : String(error)}`;
      if (given !== undefined) throw new CoreError("PHP_UNUSABLE", unusable, { cause: error });
    }
  }
  const what = given === undefined ? `no ${programs[kind]} in PATH or the system folders` : `no program ${given}`;
  const also = unusable === "" ? "" : ` (${unusable})`;
  throw new CoreError("PHP_NOT_FOUND", `Cannot start PHP workers: ${what}${also}; ${advice(kind, look.osRelease())}`);
}

/**
 * The functions that php.ini disables for php-cgi; none when it cannot be asked. A command that disables others takes the place of
 * that setting, so it has to name these, too.
 *
 * @param env the environment that PHP will run with: it may say where php.ini is
 */
export function disabledByIni(phpCgi: string, env: Readonly<Record<string, string>>): Promise<readonly string[]> {
  return new Promise((done) => {
    execFile(phpCgi, ["-i"], { timeout: 10_000, env: { ...env }, maxBuffer: 8 << 20 }, (error, out) => {
      const value = />disable_functions<\/td><td class="v">([^<]+)<\/td>/.exec(String(out))?.[1] ?? "";
      done(error === null ? value.replaceAll("&nbsp;", " ").split(/[\s,]+/).filter(Boolean) : []);
    });
  });
}

function named(given: string, look: Look): readonly string[] {
  const paths = given.includes("/") ? [given] : look.dirs.map((dir) => join(dir, given));
  return paths.filter((path) => look.executable(path)).slice(0, 1);
}

function installed(kind: PhpKind, look: Look): readonly string[] {
  const names = new RegExp(`^${programs[kind]}(?:(\\d)\\.?(\\d+)?)?$`);
  const found: { path: string; rank: number }[] = [];
  for (const dir of look.dirs) {
    for (const name of look.list(dir)) {
      const match = names.exec(name);
      if (match === null) continue;
      const path = join(dir, name);
      const rank = match[1] === undefined ? Infinity : Number(match[1]) * 1000 + Number(match[2] ?? 0);
      if (look.executable(path)) found.push({ path, rank });
    }
  }
  return found.sort((a, b) => a.rank === b.rank ? 0 : b.rank - a.rank).map((one) => one.path);
}

function read(kind: PhpKind, path: string, text: string): Php {
  const match = /^PHP (\d+)\.(\d+)\.(\d+)\S* \(([\w-]+)\)/m.exec(text);
  if (match === null) throw new CoreError("PHP_UNUSABLE", "-v does not print a PHP version");
  if (match[4] !== sapis[kind]) {
    throw new CoreError("PHP_UNUSABLE", `it is PHP's ${match[4]}, and ${programs[kind]} is needed`);
  }
  const [major, minor, patch] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const versionId = major * 10_000 + minor * 100 + patch;
  const version = `${major}.${minor}.${patch}`;
  if (versionId < oldest) throw new CoreError("PHP_UNUSABLE", `it is PHP ${version}, and workers need 8.1 or newer`);
  return { path, version, versionId };
}

/** Which package to install, from /etc/os-release. */
function advice(kind: PhpKind, osRelease: string): string {
  const ids = [...osRelease.matchAll(/^ID(?:_LIKE)?="?([^"\n]*)"?$/gm)].map((match) => match[1]).join(" ");
  const cli = kind === "cli";
  if (/\b(debian|ubuntu)\b/.test(ids)) {
    const name = cli ? "php-cli" : "php-cgi";
    return `install the package ${name} (apt install ${name})`;
  }
  if (/\balpine\b/.test(ids)) {
    const name = cli ? "php84" : "php84-cgi";
    return `install a package ${name.replace("84", "8x")} (apk search 'php8*', then apk add ${name})`;
  }
  // Here the package has both.
  if (/\b(fedora|rhel|centos|amzn)\b/.test(ids)) return "install the package php-cli (dnf install php-cli)";
  if (/\barch\b/.test(ids)) {
    const name = cli ? "php" : "php-cgi";
    return `install the package ${name} (pacman -S ${name})`;
  }
  if (/suse/.test(ids)) return `install the package ${cli ? "php8-cli" : "php8-fastcgi"}`;
  return `install your system's package for ${programs[kind]}, or give its path`;
}
