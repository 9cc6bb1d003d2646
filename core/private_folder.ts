/**
 * Private folders in the system's folder for temporary files, and what is left of them when a server ended without an end.
 *
 * @module
 */
import { chmodSync, lstatSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { CoreError } from "./error.ts";
import { claim, type FolderOwner, isGone, ownerOf } from "./folder_owner.ts";

export interface PrivateFolder {
  readonly path: string;
  remove(): void;
}

export interface FolderTerms {
  /** What its name begins with; our pid follows. */
  readonly prefix: string;
  /** The longest name of a socket in it; empty without one. */
  readonly longest: string;
  readonly mode: number;
  /** Of the error when it cannot be made. */
  readonly code: string;
  /** Where it is made; the system's folder for temporary files when absent. */
  readonly parent?: string | undefined;
}

export interface StaleTerms {
  readonly prefix: string;
  /** The socket in it that says whether somebody still uses it, where its owner cannot be seen. */
  readonly socket?: string | undefined;
  /** As for {@linkcode FolderTerms}. */
  readonly parent?: string | undefined;
  /** Wall clock, in ms. */
  readonly now?: number;
  /** Ends what still uses a folder whose owner is gone, before it is removed. */
  readonly end?: (path: string, owner: FolderOwner) => Promise<void>;
}

/**
 * Makes the folder, and notes in it that it is ours.
 *
 * @throws CoreError `code` when it cannot be made, or is so deep that a socket's path would not fit.
 */
export function makePrivateFolder({ prefix, longest, mode, code, parent = tmpdir() }: FolderTerms): PrivateFolder {
  let path: string;
  try {
    path = mkdtempSync(join(parent, `${prefix}-${process.pid}-`));
  } catch (cause) {
    throw new CoreError(code, `Cannot make a private folder in ${parent}: ${String(cause)}`, { cause });
  }
  const folder = { path, remove: () => rmSync(path, { recursive: true, force: true }) };
  try {
    // sun_path holds 108 bytes with its NUL on Linux, 104 elsewhere.
    if (new TextEncoder().encode(join(path, longest)).length > 103) {
      throw new CoreError(code, `Cannot put sockets in ${path}: the path is too long; set TMPDIR to a shorter one`);
    }
    chmodSync(path, mode);
    claim(path);
  } catch (error) {
    folder.remove();
    throw error;
  }
  return folder;
}

/**
 * Removes the folders of servers that are gone. Where the owner cannot be seen, for a server in another container may share the
 * parent, those named for a process that is not here, older than a minute, and with nobody on their socket; without a socket they
 * stay. Never rejects.
 */
export async function removeStaleFolders(terms: StaleTerms): Promise<void> {
  const { prefix, socket, parent = tmpdir(), now = Date.now(), end } = terms;
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
        await end?.(path, owner);
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
