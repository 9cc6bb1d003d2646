/**
 * Collects ended processes that nobody waits for. In a container the server may be process 1, to which the kernel gives
 * every process whose parent has ended; neither runtime waits for processes it has not started, so they would stay as zombies.
 *
 * @module
 */
import { readdirSync, readFileSync } from "node:fs";
import process from "node:process";
import { waitWithoutBlocking } from "./libc.ts";

/** An ended process that has not been waited for. */
export interface Zombie {
  readonly pid: number;
  /** Its start, in ticks since boot; with the pid it names a process for ever. */
  readonly born: string;
}

/**
 * Makes the look to take every few seconds. A zombie that two looks in a row have seen is nobody's: the runtime collects its
 * own children within milliseconds, and must be left to, for it learns from that how they ended.
 */
export function orphanCollector(zombies: () => readonly Zombie[], collect: (pid: number) => void): () => void {
  let before: ReadonlySet<string> = new Set();
  return () => {
    const now = new Set<string>();
    for (const { pid, born } of zombies()) {
      const name = `${pid} ${born}`;
      if (before.has(name)) collect(pid);
      else now.add(name);
    }
    before = now;
  };
}

/** The zombies among the children of `parent`. */
export function zombiesOf(parent: number): readonly Zombie[] {
  const found: Zombie[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "latin1");
      // The second field is the program's name in parentheses, which may hold anything.
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      if (fields[0] === "Z" && Number(fields[1]) === parent) found.push({ pid: Number(name), born: fields[19] ?? "" });
    } catch {
      // It is gone.
    }
  }
  return found;
}

/** How often (ms) they are looked for. */
const lookEvery = 5000;
/** One looks for the whole process, however many servers it has, and for as long as it lasts. */
let collecting = false;

/**
 * Begins to collect orphans when this is process 1, or when another program ran in this process before and has left children.
 *
 * @returns false where it is and cannot: start it with an init then (`docker run --init`)
 */
export function collectOrphans(hasLeft: boolean = false): boolean {
  if (collecting || (process.pid !== 1 && !hasLeft)) return true;
  const wait = waitWithoutBlocking();
  if (wait === undefined) return false;
  collecting = true;
  setInterval(orphanCollector(() => zombiesOf(process.pid), wait), lookEvery).unref();
  return true;
}
