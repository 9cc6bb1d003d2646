/**
 * Refuses to measure a server that is not the one that was started.
 *
 * @module
 */
import { executable } from "./procfs.ts";

export interface Owner {
  /** The process that owns the listener, or the parent of those who do. */
  readonly pid: number;
  /** What `/proc/<pid>/exe` must be. */
  readonly executable: string;
  /** The port whose `/-/whoami` must name `pid`, for servers that have one. */
  readonly adminPort?: number;
}

/**
 * Throws unless what listens (`holders`) is the owner and nobody outside of its `family`, the owner runs the program that was
 * started, and says the same pid itself.
 *
 * @param what the listener's name, such as `port 8080`
 */
export async function checkOwner(
  what: string,
  holders: readonly number[],
  owner: Owner,
  family: readonly number[],
): Promise<void> {
  if (holders.length === 0) throw new Error(`Nobody listens on ${what}`);
  const stranger = holders.find((pid) => !family.includes(pid));
  if (stranger !== undefined) {
    throw new Error(`${what} is also held by ${stranger} (${executable(stranger)}), which is not its server`);
  }
  if (!holders.includes(owner.pid)) throw new Error(`${what} is not held by ${owner.pid}, which was started for it`);
  const file = executable(owner.pid);
  if (file !== owner.executable) throw new Error(`${what} is held by ${file}, expected ${owner.executable}`);
  if (owner.adminPort === undefined) return;
  const who = await (await fetch(`http://127.0.0.1:${owner.adminPort}/-/whoami`)).json() as { pid?: unknown };
  if (who.pid !== owner.pid) throw new Error(`/-/whoami says pid ${who.pid}, expected ${owner.pid}`);
}
