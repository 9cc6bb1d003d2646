import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { phpTable } from "../../plugins/php/config.ts";
import { ownFpm } from "../../plugins/php/fpm_engine.ts";

describe("ownFpm", () => {
  test("sets no time limit of php-fpm's own: it would end processes that are merely idle", async () => {
    const engine = await ownFpm({
      settings: phpTable.parse({}),
      children: 1,
      log() {},
      onGreeted() {},
      onRestart() {},
    });
    try {
      const config = readFileSync(join(engine.spoolDir, "fpm.conf"), "utf8");
      expect(config).toContain("\nrequest_terminate_timeout = 0s\n");
    } finally {
      await engine.close();
    }
  });
});
