/**
 * Private folders in the system's folder for temporary files: of php-fpm, and of workers.
 *
 * @module
 */
import { chmodSync, lstatSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { CoreError } from "../../core/error.ts";
import { claim, type FolderOwner, isGone, ownerOf } from "./folder_owner.ts";
import { endLeftBehind } from "./left_behind.ts";

export interface PrivateFolder {
  readonly path: string;
  remove(): void;
}

export interface FolderKind {
  /** What its name begins with; our pid follows. */
  readonly prefix: string;
  /** The socket in it that says whether somebody still uses it, where its owner cannot be seen. */
  readonly socket: string;
  /** The longest name of a socket in it. */
  readonly longest: string;
}

/** What was found of a server that is gone: its folder, and the PHP processes that still used it, which were ended. */
export interface LeftBehind {
  readonly path: string;
  readonly owner: FolderOwner;
  readonly ended: readonly number[];
}

/**
 * Makes the folder. As root it can be passed through by others but not listed (0711), for PHP runs as somebody else.
 *
 * @throws `PHP_START` when it cannot be made, or is so deep that a socket's path would not fit.
 */
export function makePrivateFolder(
  kind: Omit<FolderKind, "socket">,
  asRoot: boolean,
  parent: string = tmpdir(),
): PrivateFolder {
  let path: string;
  try {
    path = mkdtempSync(join(parent, `${kind.prefix}-${process.pid}-`));
  } catch (cause) {
    throw new CoreError("PHP_START", `Cannot make a private folder in ${parent}: ${String(cause)}`, { cause });
  }
  const folder = { path, remove: () => rmSync(path, { recursive: true, force: true }) };
  try {
    // sun_path holds 108 bytes with its NUL on Linux, 104 elsewhere.
    if (new TextEncoder().encode(join(path, kind.longest)).length > 103) {
      throw new CoreError(
        "PHP_START",
        `Cannot put sockets in ${path}: the path is too long; set TMPDIR to a shorter one`,
      );
    }
    chmodSync(path, asRoot ? 0o711 : 0o700);
    claim(path);
  } catch (error) {
    folder.remove();
    throw error;
  }
  return folder;
}

/**
 * Removes the folders of servers that are gone, and ends PHP processes that still use them. Where the owner cannot be seen, for a
 * server in another container may share the parent, those named for a process that is not here, older than a minute, and with nobody
 * on their socket; without a socket they stay. Never rejects.
 */
export async function removeStaleFolders(
  { prefix, socket }: Pick<FolderKind, "prefix"> & Partial<FolderKind>,
  parent: string = tmpdir(),
  now: number = Date.now(),
  onLeft: (left: LeftBehind) => void = () => {},
): Promise<void> {
  let names: readonly string[] = [];
  try {
    names = readdirSync(parent);
  } catch {
    return;
  }
  for (const name of names) {
    const pid = name.startsWith(`${prefix}-`) ? Number(/^(\d+)-\w+$/.exec(name.slice(prefix.length + 1))?.[1]) : NaN;
    const path = join(parent, name);
    try {
      if (!(pid > 0)) continue;
      const stat = lstatSync(path);
      if (!stat.isDirectory() || stat.uid !== process.getuid?.()) continue;
      const owner = ownerOf(path);
      const gone = owner && isGone(owner);
      if (owner !== undefined && gone === true) {
        onLeft({ path, owner, ended: await endLeftBehind(path, owner) });
      } else {
        if (gone === false || running(pid) || now - stat.mtimeMs < 60_000) continue;
        if (socket === undefined || await answers(join(path, socket))) continue;
      }
      rmSync(path, { recursive: true, force: true });
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

function answers(socket: string): Promise<boolean> {
  return new Promise((done) => {
    const caller = connect(socket);
    caller.once("connect", () => {
      caller.destroy();
      done(true);
    });
    caller.once("error", () => done(false));
  });
}
