/**
 * The private folder of one php-fpm: its config, its sockets and the greeting script.
 *
 * @module
 */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { CoreError } from "../../core/error.ts";

export interface RuntimeDir {
  readonly path: string;
  readonly config: string;
  readonly socket: string;
  readonly statusSocket: string;
  /** A script that prints the pid of the child that runs it, and nothing else. */
  readonly greeting: string;
  remove(): void;
}

/**
 * Makes the folder. As root it can be passed through but not listed by others (0711), for the pool's user must reach
 * the greeting; the sockets in it stay the owner's alone (0600).
 *
 * @throws `PHP_START` when the folder cannot be made, or is so deep that a socket's path would not fit.
 */
export function makeRuntimeDir(asRoot: boolean, parent: string = tmpdir()): RuntimeDir {
  let path: string;
  try {
    path = mkdtempSync(join(parent, "fairlead-fpm-"));
  } catch (cause) {
    throw new CoreError("PHP_START", `Cannot make a private folder in ${parent}: ${String(cause)}`, { cause });
  }
  const dir: RuntimeDir = {
    path,
    config: join(path, "fpm.conf"),
    socket: join(path, "fpm.sock"),
    statusSocket: join(path, "status.sock"),
    greeting: join(path, "greeting.php"),
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
  try {
    // sun_path holds 108 bytes with its NUL on Linux, 104 elsewhere.
    if (new TextEncoder().encode(dir.statusSocket).length > 103) {
      throw new CoreError(
        "PHP_START",
        `Cannot put sockets in ${path}: the path is too long; set TMPDIR to a shorter one`,
      );
    }
    chmodSync(path, asRoot ? 0o711 : 0o700);
    writeFileSync(dir.greeting, "<?php echo getmypid();\n");
    chmodSync(dir.greeting, asRoot ? 0o644 : 0o600);
  } catch (error) {
    dir.remove();
    throw error;
  }
  return dir;
}

/** The user and group a pool runs as when the server is root: www-data where it exists, else nobody. */
export function poolUser(passwd: string = textOf("/etc/passwd"), group: string = textOf("/etc/group")): {
  readonly user: string;
  readonly group: string;
} {
  const has = (text: string, name: string) => text.split("\n").some((line) => line.startsWith(`${name}:`));
  if (has(passwd, "www-data")) {
    return { user: "www-data", group: has(group, "www-data") ? "www-data" : groupOfNobody() };
  }
  return { user: "nobody", group: groupOfNobody() };

  function groupOfNobody(): string {
    return has(group, "nogroup") ? "nogroup" : "nobody";
  }
}

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
