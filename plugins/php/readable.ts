import { realpathSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";

/** Who PHP runs as. */
export interface Reader {
  readonly uid: number;
  readonly gid: number;
}

/**
 * The first folder on the way to `path` (or `path` itself) that the user may not pass, or not read where it is a file; undefined when all is open. PHP
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
    // Search permission for a folder, read permission for a file; of the first class that fits (POSIX, file access permissions).
    const bit = folder === path && (mode & 0o170000) === 0o100000 ? 0o4 : 0o1;
    const place = uid === reader.uid ? 6 : gid === reader.gid ? 3 : 0;
    return (mode & bit << place) === 0;
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
