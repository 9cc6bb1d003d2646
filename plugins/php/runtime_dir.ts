/**
 * The private folder of one php-fpm: its config, its sockets and the greeting script.
 *
 * @module
 */
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { type FolderKind, makePrivateFolder } from "./private_folder.ts";

export interface RuntimeDir {
  readonly path: string;
  readonly config: string;
  readonly socket: string;
  readonly statusSocket: string;
  /** A script that prints the pid of the child that runs it, and nothing else. */
  readonly greeting: string;
  remove(): void;
}

/** Folders of php-fpm. */
export const fpmFolders: FolderKind = { prefix: "fairlead-fpm", socket: "fpm.sock", longest: "status.sock" };

/** Makes the folder. The sockets in it stay the owner's alone (0600). @throws as {@linkcode makePrivateFolder} */
export function makeRuntimeDir(asRoot: boolean, parent?: string): RuntimeDir {
  const { path, remove } = makePrivateFolder(fpmFolders, asRoot, parent);
  const dir: RuntimeDir = {
    path,
    config: join(path, "fpm.conf"),
    socket: join(path, fpmFolders.socket),
    statusSocket: join(path, fpmFolders.longest),
    greeting: join(path, "greeting.php"),
    remove,
  };
  try {
    writeFileSync(dir.greeting, "<?php echo getmypid();\n");
    chmodSync(dir.greeting, asRoot ? 0o644 : 0o600);
  } catch (error) {
    remove();
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
