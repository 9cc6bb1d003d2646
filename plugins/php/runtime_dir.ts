/**
 * The private folder of one php-fpm: its config, its sockets and the greeting script.
 *
 * @module
 */
import { chmodSync, lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
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
    path = mkdtempSync(join(parent, `fairlead-fpm-${process.pid}-`));
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

/**
 * Removes the folders of servers that were killed: ours by owner, named for a process that is gone, older than a minute,
 * and with nobody on their socket (a server in another container may share the parent). Never rejects.
 */
export async function removeStaleDirs(parent: string = tmpdir(), now: number = Date.now()): Promise<void> {
  let names: readonly string[] = [];
  try {
    names = readdirSync(parent);
  } catch {
    return;
  }
  for (const name of names) {
    const pid = Number(/^fairlead-fpm-(\d+)-\w+$/.exec(name)?.[1] ?? NaN);
    const path = join(parent, name);
    try {
      if (!(pid > 0) || running(pid)) continue;
      const stat = lstatSync(path);
      if (!stat.isDirectory() || stat.uid !== process.getuid?.() || now - stat.mtimeMs < 60_000) continue;
      if (!await answers(join(path, "fpm.sock"))) rmSync(path, { recursive: true, force: true });
    } catch {
      continue;
    }
  }
}

function running(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as { code?: string }).code !== "ESRCH";
  }
}

function answers(socketPath: string): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(socketPath);
    socket.once("connect", () => {
      socket.destroy();
      done(true);
    });
    socket.once("error", () => done(false));
  });
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

/** The numbers of a user and its main group, or undefined when there is no such user. */
export function userIds(
  user: string,
  passwd: string = textOf("/etc/passwd"),
): { readonly uid: number; readonly gid: number } | undefined {
  const fields = passwd.split("\n").find((line) => line.startsWith(`${user}:`))?.split(":");
  return fields === undefined ? undefined : { uid: Number(fields[2]), gid: Number(fields[3]) };
}

/** The number of a group, or undefined when there is no such group. */
export function groupId(name: string, group: string = textOf("/etc/group")): number | undefined {
  const fields = group.split("\n").find((line) => line.startsWith(`${name}:`))?.split(":");
  return fields === undefined ? undefined : Number(fields[2]);
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
