import type { Log } from "../../core/plugin.ts";
import { collectOrphans } from "../../core/orphans.ts";
import process from "node:process";
import { workerFolders } from "./native/door.ts";
import { type FolderKind, removeStaleFolders } from "./private_folder.ts";
import { fpmFolders } from "./runtime_dir.ts";

/** Folders for the bodies of requests to a php-fpm of somebody else. */
export const spoolFolders: Omit<FolderKind, "socket"> = { prefix: "fairlead-spool", longest: "" };

/** Clears away whatever servers that are gone have left, processes and folders, of every kind of pool. Never rejects. */
export async function clearLeftOver(log: Log, parent?: string): Promise<void> {
  let before = false;
  for (const kind of [fpmFolders, workerFolders, spoolFolders]) {
    await removeStaleFolders(kind, parent, Date.now(), ({ path, owner, ended }) => {
      before ||= owner.pid === process.pid;
      if (ended.length > 0) {
        log("warn", "ended PHP processes that an earlier server had left", { path, pids: ended.join(" ") });
      }
    });
  }
  // Those that ended by themselves have nobody who takes their end either.
  if (before) collectOrphans(true);
}
