import { chmodSync, chownSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CoreError } from "../../core/error.ts";
import type { Ini } from "./fpm_config.ts";
import { iniFile } from "./ini_file.ts";
import { phpFiles } from "./php_files.ts";
import type { RunAs } from "./run_as.ts";

/** What one pool of workers has in its private folder: what runs inside PHP, settings, and the bodies of requests. */
export interface WorkerFolder {
  /** Where bodies are kept while their requests run; the PHP user may move files out of it. */
  readonly bodies: string;
  /** The folder `php/` as workers find it. */
  readonly php: string;
  /** A folder for PHP_INI_SCAN_DIR. */
  readonly ini: string;
}

/**
 * Fills a private folder, which whoever made it removes. Modes are set whatever the umask is, for PHP runs as somebody else; its
 * settings may hold secrets, and are for that user alone.
 *
 * @throws CoreError `PHP_START`, `PHP_CONFIG`
 */
export function fillWorkerFolder(path: string, settings: Ini, user: RunAs | undefined): WorkerFolder {
  const text = iniFile(settings);
  const theirs = (at: string, mode: number) => {
    chmodSync(at, mode);
    if (user !== undefined) chownSync(at, user.uid, user.gid);
  };
  const folder = { bodies: join(path, "bodies"), php: join(path, "php"), ini: join(path, "ini") };
  try {
    for (const at of [folder.bodies, folder.ini]) {
      mkdirSync(at);
      theirs(at, 0o700);
    }
    const file = join(folder.ini, "site.ini");
    writeFileSync(file, text, { mode: 0o600 });
    theirs(file, 0o400);
    for (const [name, source] of Object.entries(phpFiles)) {
      const at = join(folder.php, name);
      mkdirSync(dirname(at), { recursive: true });
      for (let up = dirname(at); up !== path; up = dirname(up)) chmodSync(up, 0o755);
      writeFileSync(at, source);
      chmodSync(at, 0o644);
    }
    return folder;
  } catch (cause) {
    throw new CoreError("PHP_START", `Cannot write to the private folder ${path}: ${String(cause)}`, { cause });
  }
}
