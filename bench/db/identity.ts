/**
 * Refuses to measure a door that is not the one that was opened.
 *
 * @module
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { RawClient } from "../../tests/support/raw_client.ts";
import { checkOwner } from "../support/ownership.ts";
import { executable, listeners, tree } from "../support/procfs.ts";
import type { ArmProcess, Door } from "./arms/arm.ts";

export { listeners as tcpHolders } from "../support/procfs.ts";

/**
 * Inodes of listening unix sockets at `path`. A server in a chroot has bound the end of it; HAProxy has bound
 * `PATH.PID.tmp` and then renamed the file.
 */
export function listeningInodes(table: string, path: string): Set<string> {
  const found = new Set<string>();
  for (const line of table.split("\n").slice(1)) {
    // Num: RefCount Protocol Flags Type St Inode Path
    const [, , , flags = "0", , , inode = "", bound = ""] = line.trim().split(/\s+/);
    const listening = (parseInt(flags, 16) & 0x10000) !== 0;
    const name = bound.replace(/\.\d+\.tmp$/, "");
    if (listening && name.startsWith("/") && path.endsWith(name)) found.add(`socket:[${inode}]`);
  }
  return found;
}

/** Every process that listens on the unix socket at `path`. */
function socketHolders(path: string): number[] {
  const inodes = listeningInodes(readFileSync("/proc/net/unix", "utf8"), path);
  if (inodes.size === 0) return [];
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map(Number).filter((pid) => {
    try {
      return readdirSync(`/proc/${pid}/fd`).some((fd) => inodes.has(readlinkSync(`/proc/${pid}/fd/${fd}`)));
    } catch {
      return false;
    }
  });
}

/** The processes of a proxy that run its own program: not the PHP that Fairlead may have started. */
export function ownPids(process: ArmProcess): number[] {
  return tree(process.pid).filter((pid) => executable(pid) === process.executable);
}

/** Throws unless the door is its own process' and of nobody that it has not started: on Deno php-fpm inherits unix sockets. */
export async function checkHolder({ name, via, place, process }: Door): Promise<void> {
  const holders = via === "tcp" ? listeners(place.port) : socketHolders(place.socket);
  await checkOwner(name, holders, process, tree(process.pid));
}

/** Throws unless it is this very database that answers behind the door. */
export async function checkAnswer(door: Door, expected: string): Promise<void> {
  await using client = await RawClient.login(door.place, { viaSocket: door.via === "socket", database: "test" });
  const answer = await client.one(WHO);
  if (answer !== expected) throw new Error(`Behind ${door.name} is ${answer}, expected ${expected}`);
  await client.quit();
}

/** Tells one database server from every other on this machine. */
export const WHO = "SELECT CONCAT(@@version, ' ', @@port, ' ', @@datadir)";
