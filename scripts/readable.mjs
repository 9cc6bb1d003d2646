// PHP does not run as root: what it shall show must be readable by others, and so must every folder on the way there.
import { chmodSync, cpSync, mkdtempSync, readdirSync, realpathSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** The first file or folder in `folder`, or on the way to it, that keeps others out; undefined when none does. */
export function closed(folder) {
  const below = readdirSync(folder, { recursive: true }).map((name) => join(folder, name));
  const above = [];
  for (let path = realpathSync(folder);; path = dirname(path)) {
    above.unshift(path);
    if (path === dirname(path)) break;
  }
  const open = (path) => {
    const stat = statSync(path);
    const wanted = stat.isDirectory() ? 0o001 : 0o004;
    return (stat.mode & wanted) !== 0;
  };
  return [...above, ...below].find((path) => !open(path));
}

/** Copies a folder to where everyone may read it. */
export function openCopy(folder) {
  const path = mkdtempSync(join(tmpdir(), "fairlead-example-"));
  cpSync(folder, path, { recursive: true });
  chmodSync(path, 0o755);
  for (const name of readdirSync(path, { recursive: true })) {
    const file = join(path, name);
    chmodSync(file, statSync(file).isDirectory() ? 0o755 : 0o644);
  }
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
