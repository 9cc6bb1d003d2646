/**
 * The file system as the resolver sees it.
 *
 * @module
 */
import { realpathSync, statSync } from "node:fs";
import type { ScriptFs } from "./resolve.ts";

/** The real file system. Errors (no such file, no permission, name too long, link loop) all mean "nothing there". */
export const diskFs: ScriptFs = {
  kind(path) {
    try {
      const stat = statSync(path, { throwIfNoEntry: false });
      if (stat === undefined) return undefined;
      return stat.isFile() ? "file" : stat.isDirectory() ? "directory" : "other";
    } catch {
      return undefined;
    }
  },
  realpath(path) {
    try {
      return realpathSync.native(path);
    } catch {
      return undefined;
    }
  },
};

/** What a folder is, whatever path leads to it: changes when a link on the way is flipped. */
export function folderIdentity(path: string): string | undefined {
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat === undefined ? undefined : `${stat.dev}:${stat.ino}`;
  } catch {
    return undefined;
  }
}
