/**
 * The PHP client of bulkheads has types that PHPStan believes at its strictest.
 *
 * @module
 */
import { afterAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { phpstan } from "../../../support/php_apps/composer.ts";
import { allowSlowTests } from "../../../support/wait.ts";

allowSlowTests(300_000);

const root = fileURLToPath(new URL("../../../../", import.meta.url));
const made = phpstan();

if ("absent" in made) {
  describe.skip("static analysis", () => test(`skipped: ${made.absent}`, () => {}));
} else {
  describe("static analysis", () => {
    const dir = mkdtempSync(join(tmpdir(), "fairlead-analysis-"));
    afterAll(() => rmSync(dir, { recursive: true, force: true }));

    test("finds nothing in Fairlead\\Bulkhead and the PSR glue, for PHP 8.1 and later", () => {
      writeFileSync(
        join(dir, "phpstan.neon"),
        `parameters:
    level: max
    phpVersion: { min: 80100, max: 80400 }
    tmpDir: ${dir}/cache
    paths: [${root}php/src/Bulkhead, ${root}php/src/Psr]
    scanDirectories: [${root}php/src]
    scanFiles: [${root}tests/php/bulkhead/support/rasuvaeff.php]
`,
      );
      const args = ["analyse", "--configuration", join(dir, "phpstan.neon"), "--no-progress", "--error-format=raw"];
      const { stdout, stderr, status } = spawnSync(
        "php",
        ["-d", "memory_limit=1G", join(made.dir, "vendor/bin/phpstan"), ...args],
        { cwd: made.dir, encoding: "utf8" },
      );
      expect([stdout.trim(), status], stderr).toEqual(["", 0]);
    });
  });
}
