/**
 * Folders that Apache would not serve: applications keep data, settings and libraries beside their pages, with an `.htaccess` in
 * each such folder that denies all. No other server reads it.
 *
 * @module
 */
import { readdir, readFile } from "node:fs/promises";

/** Whether the text of an `.htaccess` denies the whole folder to everybody, in the words of Apache 2.4 or of 2.2. */
export function deniesAll(text: string): boolean {
  let within = 0;
  for (const line of text.split(/\r?\n/)) {
    // What is about some files or methods only says nothing of the folder.
    if (/^\s*<(?:Files|FilesMatch|Limit|LimitExcept|If|ElseIf|Else|RequireAny|RequireNone)\b/i.test(line)) within++;
    else if (/^\s*<\/(?:Files|FilesMatch|Limit|LimitExcept|If|ElseIf|Else|RequireAny|RequireNone)>/i.test(line)) {
      within--;
    } else if (within <= 0 && /^\s*(?:Require\s+all\s+denied|Deny\s+from\s+all)\s*$/i.test(line)) return true;
  }
  return false;
}

/** How far a look around goes. */
export interface Bounds {
  /** Folders below each other; 5 when absent. */
  readonly depth?: number;
  /** Folders looked into; 2000 when absent. */
  readonly folders?: number;
}

/**
 * Finds the folders below a public root whose `.htaccess` denies all, as paths like `/wiki/data`, and not what is below them. The
 * nearest come first, links and hidden folders are passed by, and what cannot be read is no finding.
 */
export async function deniedFolders(root: string, { depth = 5, folders = 2000 }: Bounds = {}): Promise<string[]> {
  const found: string[] = [];
  let level = [""], looked = 0;
  for (let deep = 0; deep <= depth && level.length > 0; deep++) {
    const below: string[] = [];
    for (const folder of level) {
      if (looked++ >= folders) return found;
      const entries = await readdir(`${root}${folder}/`, { withFileTypes: true }).catch(() => []);
      const rules = entries.some(({ name }) => name === ".htaccess")
        ? await readFile(`${root}${folder}/.htaccess`, "utf8").catch(() => "")
        : "";
      if (deniesAll(rules)) found.push(folder === "" ? "/" : folder);
      else {
        for (const entry of entries) {
          if (entry.isDirectory() && !entry.name.startsWith(".") && entry.name !== "node_modules") {
            below.push(`${folder}/${entry.name}`);
          }
        }
      }
    }
    level = below;
  }
  return found;
}
