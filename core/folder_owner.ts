/**
 * Whose a private folder is, so that what is left of a server that ended without an end can be told from what is in use.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { identify } from "./process_identity.ts";

/** The process that made a folder. */
export interface FolderOwner {
  readonly pid: number;
  /** In ticks since the system's boot: with the pid it names one process for ever. */
  readonly started: string;
  /** What its pid counts in: a machine since its start, and containers have their own. */
  readonly space: string;
  /** The run of a program in it: `bun --watch` starts the program over in the same process. */
  readonly program: string | undefined;
}

const fileName = "owner";

/** Notes in a folder that it is ours. Without /proc nothing is noted. */
export function claim(folder: string, owner: FolderOwner | undefined = ourselves()): void {
  if (owner !== undefined) writeFileSync(join(folder, fileName), JSON.stringify(owner), { mode: 0o600 });
}

export function ownerOf(folder: string): FolderOwner | undefined {
  try {
    const { pid, started, space, program } = JSON.parse(readFileSync(join(folder, fileName), "utf8"));
    return Number.isSafeInteger(pid) && typeof started === "string" && typeof space === "string"
      ? { pid, started, space, program: typeof program === "string" ? program : undefined }
      : undefined;
  } catch {
    return undefined;
  }
}

export function ourselves(): FolderOwner | undefined {
  const started = identify(process.pid)?.started, space = spaceOfPids();
  return started === undefined || space === undefined
    ? undefined
    : { pid: process.pid, started, space, program: programOf(process.pid) };
}

/** Whether the owner is there no more; undefined when that cannot be seen from here. */
export function isGone({ pid, started, space, program }: FolderOwner): boolean | undefined {
  if (space !== spaceOfPids()) return undefined;
  const now = identify(pid);
  if (now === undefined || now.started !== started || now.state === "Z" || now.state === "X") return true;
  const other = programOf(pid);
  return program !== undefined && other !== undefined && program !== other;
}

function spaceOfPids(): string | undefined {
  try {
    return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return undefined;
  }
}

/** Names one run of a program: the kernel puts each to other addresses (getauxval(3)). */
function programOf(pid: number): string | undefined {
  try {
    return createHash("sha256").update(readFileSync(`/proc/${pid}/auxv`)).digest("hex");
  } catch {
    return undefined;
  }
}
