/**
 * PHP processes of a server that ended without an end: it was killed where nothing ties them to it, or its program was started over in
 * the same process (`bun --watch`), which nobody tells them.
 *
 * @module
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
import process from "node:process";
import type { FolderOwner } from "../../core/folder_owner.ts";
import { identify, type Identity } from "../../core/process_identity.ts";
import { killIdentified } from "./fork/identity.ts";

/** How long (ms) what was killed may take to be gone. */
const goneMs = 2000;

/**
 * Ends the processes that use this private folder, of an owner that is gone, with all that is in their process groups. Settles with
 * their pids when they are gone. Never rejects.
 */
export async function endLeftBehind(folder: string, owner: FolderOwner): Promise<readonly number[]> {
  const left = processesOf(folder, owner.pid === process.pid);
  for (const who of left) killIdentified(who);
  const until = performance.now() + goneMs;
  const isLeft = (who: Identity) => {
    const now = identify(who.pid);
    return now?.started === who.started && now.state !== "Z" && now.state !== "X";
  };
  while (left.some(isLeft) && performance.now() < until) await new Promise((done) => setTimeout(done, 10));
  return left.map(({ pid }) => pid);
}

/**
 * Those that were started with the folder, and children of a php-fpm that was, though their title does not say so and it may be gone:
 * they listen on its socket. `ours`: they are our children, or children of those; then the environment counts too, which
 * is inherited also by what an application starts for good. That belongs to nobody, and stays.
 */
function processesOf(folder: string, ours: boolean): readonly Identity[] {
  const named: Identity[] = [], marked: Identity[] = [];
  const sockets = listeningIn(folder);
  for (const name of list("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const who = identify(Number(name));
    if (who === undefined || who.state === "Z" || who.pid === process.pid) continue;
    // php-fpm writes its title, with the file in brackets, over its arguments.
    const title = read(`/proc/${name}/cmdline`), words = title.split(/[\0() ]/);
    const names = words.includes(`${folder}/fpm.conf`) || words.includes(`${folder}/php/runtime/frankenphp.php`) ||
      (title.startsWith("php-fpm: pool ") && holdsOneOf(sockets, name));
    if (names && isPhp(name)) named.push(who);
    else if (ours && read(`/proc/${name}/environ`).split("\0").includes(`FAIRLEAD_PHP=${folder}/php`)) marked.push(who);
  }
  const found = new Map(named.map((who) => [who.pid, who]));
  for (let before = -1; before < found.size;) {
    before = found.size;
    for (const who of marked) if (who.parent === process.pid || found.has(who.parent)) found.set(who.pid, who);
  }
  return [...found.values()];
}

/** Whether its program is PHP's: an editor may name the file, too. */
function isPhp(pid: string): boolean {
  try {
    return /php/i.test(basename(readlinkSync(`/proc/${pid}/exe`)));
  } catch {
    return false;
  }
}

/** The sockets that listen by a name in the folder, as links of /proc/PID/fd name them; unix(7) keeps a name that was removed. */
function listeningIn(folder: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (const line of read("/proc/net/unix").split("\n")) {
    // Num: RefCount Protocol Flags Type St Inode Path; the flag is __SO_ACCEPTCON.
    const [, flags, inode, path] = /^\S+ \S+ \S+ (\S+) \S+ \S+ +(\d+) (.+)$/.exec(line) ?? [];
    if (flags === "00010000" && path?.startsWith(`${folder}/`)) found.add(`socket:[${inode}]`);
  }
  return found;
}

function holdsOneOf(sockets: ReadonlySet<string>, pid: string): boolean {
  return sockets.size > 0 && list(`/proc/${pid}/fd`).some((fd) => {
    try {
      return sockets.has(readlinkSync(`/proc/${pid}/fd/${fd}`));
    } catch {
      return false;
    }
  });
}

function list(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}
