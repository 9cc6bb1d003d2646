/**
 * Where a run keeps its configuration, sockets and logs.
 *
 * @module
 */
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

/** A new folder that is gone when the harness ends, unless it is to be kept. */
export function workFolder(name: string, keep: boolean): string {
  const dir = mkdtempSync(join(tmpdir(), `fairlead-${name}-`));
  // Workers of PHP and of other servers are another user when root runs the harness.
  chmodSync(dir, 0o755);
  if (!keep) {
    process.on("exit", () => rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }));
  }
  return dir;
}
