import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { CoreError } from "../../core/error.ts";
import { phpFiles } from "./php_files.ts";

/** The private folder of one pool of workers: what runs inside PHP, and the bodies of requests. */
export interface WorkerFolder {
  /** Where bodies are kept while their requests run; the PHP user may move files out of it. */
  readonly bodies: string;
  /** The folder `php/` as workers find it. */
  readonly php: string;
  remove(): void;
}

/**
 * Makes it. As root, others can pass through it but not list it, for PHP runs as somebody else.
 *
 * @throws CoreError `PHP_START`
 */
export function makeWorkerFolder(user: { readonly uid: number; readonly gid: number } | undefined): WorkerFolder {
  const parent = tmpdir();
  let path: string;
  try {
    path = mkdtempSync(join(parent, `fairlead-php-${process.pid}-`));
    chmodSync(path, user === undefined ? 0o700 : 0o711);
    const bodies = join(path, "bodies");
    mkdirSync(bodies, { mode: 0o700 });
    if (user !== undefined) chownSync(bodies, user.uid, user.gid);
    const php = join(path, "php");
    for (const [name, text] of Object.entries(phpFiles)) {
      const file = join(php, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    return { bodies, php, remove: () => rmSync(path, { recursive: true, force: true }) };
  } catch (cause) {
    throw new CoreError("PHP_START", `Cannot make a private folder in ${parent}: ${String(cause)}`, { cause });
  }
}
