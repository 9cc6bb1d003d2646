import { readFileSync } from "node:fs";
import { CoreError } from "../../core/error.ts";
import { groupId, isRoot, poolUser, userIds } from "./runtime_dir.ts";

/** Whom PHP runs as, when we are root. */
export interface RunAs {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

/**
 * Finds out whom workers run as; undefined when they are ours.
 *
 * @throws CoreError `PHP_USER`
 */
export function runAs(user: string | undefined, group: string | undefined): RunAs | undefined {
  if (!isRoot()) return undefined;
  const name = user ?? poolUser().user;
  const ids = userIds(name);
  if (ids === undefined) throw new CoreError("PHP_USER", `Cannot run PHP as ${name}: there is no such user`);
  const gid = group === undefined ? ids.gid : groupId(group);
  if (gid === undefined) throw new CoreError("PHP_USER", `Cannot run PHP in the group ${group}: there is none`);
  return { name, uid: ids.uid, gid, home: homeOf(name) };
}

function homeOf(name: string): string {
  const line = readFileSync("/etc/passwd", "utf8").split("\n").find((one) => one.startsWith(`${name}:`));
  return line?.split(":")[5] || "/";
}
