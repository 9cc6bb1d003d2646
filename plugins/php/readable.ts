import { realpathSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";

/** Who PHP runs as. */
export interface Reader {
  readonly uid: number;
  readonly gid: number;
}

/**
 * The first folder on the way to `path` (or `path` itself) that the user may not pass; undefined when all is open. PHP
 * would say of every script below that there is no such file.
 */
export function closedTo(
  reader: Reader,
  path: string,
  stat: (path: string) => Pick<Stats, "mode" | "uid" | "gid"> = statSync,
): string | undefined {
  const folders: string[] = [];
  for (let at = path;; at = dirname(at)) {
    folders.unshift(at);
    if (at === dirname(at)) break;
  }
  return folders.find((folder) => {
    const { mode, uid, gid } = stat(folder);
    // Search permission, of the first class that fits (POSIX, file access permissions).
    const bit = uid === reader.uid ? 0o100 : gid === reader.gid ? 0o010 : 0o001;
    return (mode & bit) === 0;
  });
}

/** The real path of a folder, or undefined when there is none. */
export function realFolder(path: string): string | undefined {
  try {
    return statSync(path).isDirectory() ? realpathSync(path) : undefined;
  } catch {
    return undefined;
  }
}
