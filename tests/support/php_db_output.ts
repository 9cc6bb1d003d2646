/**
 * What a test of PHP's prints, whatever it expects: patterns such as `%d` and `%s` hide much of what a proxy could get wrong.
 *
 * @module
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Place } from "./database.ts";

/** Has every test of the folder expect what none prints: run-tests.php keeps the output of those that fail. */
export function demandOutput(folder: string): void {
  for (const name of readdirSync(folder).filter((entry) => entry.endsWith(".phpt"))) {
    const path = join(folder, name);
    const text = readFileSync(path, "latin1");
    // The section goes as far as the next one.
    const changed = text.replace(
      /^--EXPECT(?:F|REGEX)?--\r?\n[^]*?(?=^--[A-Z]+--\r?$|$(?![^]))/m,
      "--EXPECT--\nno test prints this\n",
    );
    writeFileSync(path, changed, "latin1");
  }
}

/** The output without what differs from run to run: where it ran. */
export function saidBy(
  text: string,
  at: { readonly dir: string; readonly place: Place; readonly schema: string },
): string {
  const { dir, place, schema } = at;
  return text.replaceAll(dir, "DIR").replaceAll(place.socket, "SOCKET").replaceAll(String(place.port), "PORT")
    .replaceAll(new RegExp(`\\b${schema}\\b`, "g"), "SCHEMA");
}

/** As of `diff -u`, without the names. */
export function unifiedDiff(one: string, other: string): string {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-diff-"));
  try {
    writeFileSync(join(dir, "a"), one, "latin1");
    writeFileSync(join(dir, "b"), other, "latin1");
    const { stdout } = spawnSync("diff", ["-a", "-U1", "a", "b"], { cwd: dir, encoding: "latin1", maxBuffer: 1 << 26 });
    return stdout.split("\n").slice(2).join("\n");
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
