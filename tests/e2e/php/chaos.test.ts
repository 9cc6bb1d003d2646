/**
 * Workers killed, stopped and crashed, clients that leave, and reloads, all at once and under load. A few seconds of it: `long/` has
 * the hours.
 *
 * @module
 */
import { describe, expect, test } from "bun:test";
import { ordeal } from "../../support/php_apps/ordeal.ts";
import type { Door } from "../../support/php_apps/site.ts";
import { allTorments } from "../../support/php_apps/torment.ts";
import { runtimes } from "../../support/server.ts";
import { allowSlowTests } from "../../support/wait.ts";

allowSlowTests(120_000);

for (const host of runtimes()) {
  describe(`chaos with workers on ${host}`, () => {
    for (const door of ["frankenphp", "goridge", "native", "fork"] satisfies Door[]) {
      test(`${door}: only a broken worker's request fails, and nothing is left behind`, async () => {
        const toll = await ordeal({ host, door, seconds: 3, clients: 12, torments: allTorments, every: 70, seed: 5 });
        // As many as a busy machine lets there be.
        expect(toll.left).toBeGreaterThan(20);
        expect(toll.done.kill).toBeGreaterThan(2);
      });
    }
  });
}
