import { chownSync, readFileSync } from "node:fs";
import process from "node:process";
import { CoreError } from "./error.ts";

/** What of the system is asked, so that tests can be others. */
export interface GroupSystem {
  /** `/etc/group` as text; empty when there is none. */
  groups(): string;
  readonly root: boolean;
  chown(path: string, gid: number): void;
}

const system: GroupSystem = {
  groups() {
    try {
      return readFileSync("/etc/group", "utf8");
    } catch {
      return "";
    }
  },
  root: process.getuid?.() === 0,
  chown: (path, gid) => chownSync(path, process.getuid!(), gid),
};

/**
 * Lets a group use a socket of mode 0660. Without one named, a server that is root gives it to `www-data`, if there is
 * such a group, since PHP then runs as that; any other server leaves it to its own.
 *
 * @param code of the error that says that it cannot be done
 * @throws CoreError of that code
 */
export function giveToGroup(
  path: string,
  group: string | undefined,
  code: string,
  from: GroupSystem = system,
): void {
  const wanted = group ?? (from.root ? "www-data" : undefined);
  if (wanted === undefined) return;
  const gid = idOf(wanted, from.groups());
  if (gid === undefined) {
    if (group === undefined) return;
    throw new CoreError(code, `Cannot give ${path} to the group ${group}: there is none of that name`);
  }
  try {
    from.chown(path, gid);
  } catch (cause) {
    const why = (cause as { code?: string }).code === "EPERM"
      ? "the server's user must be in it, or be root"
      : (cause as Error).message;
    throw new CoreError(code, `Cannot give ${path} to the group ${wanted}: ${why}`, { cause });
  }
}

function idOf(group: string, groups: string): number | undefined {
  const fields = groups.split("\n").map((line) => line.split(":")).find(([name]) => name === group);
  return fields?.[2] !== undefined ? Number(fields[2]) : /^\d+$/.test(group) ? Number(group) : undefined;
}
