/**
 * The torments of `../chaos.test.ts` for longer: `FAIRLEAD_CHAOS_SECONDS` for each kind of worker (30 when absent), each time drawn anew
 * from the seed in `FAIRLEAD_CHAOS_SEED` (1 when absent), and at least 1,000 clients that leave.
 *
 * @module
 */
import { describe, expect, test } from "bun:test";
import process from "node:process";
import { ordeal } from "../../../support/php_apps/ordeal.ts";
import { workerDoors } from "../../../support/php_apps/site.ts";
import { allTorments, type Torment } from "../../../support/php_apps/torment.ts";
import { runtimes } from "../../../support/server.ts";
import { allowSlowTests } from "../../../support/wait.ts";

const seconds = Number(process.env["FAIRLEAD_CHAOS_SECONDS"] ?? 30);
const seed = Number(process.env["FAIRLEAD_CHAOS_SEED"] ?? 1);

allowSlowTests(seconds * 1000 + 180_000);

/** Clients leave twice as often as anything else happens. */
const torments: readonly Torment[] = [...allTorments, "leave"];

for (const host of runtimes()) {
  describe(`long chaos with workers on ${host}`, () => {
    for (const [at, door] of workerDoors.entries()) {
      test(`${door}: ${seconds} s of everything`, async () => {
        const toll = await ordeal({ host, door, seconds, clients: 24, torments, every: 110, seed: seed + at });
        console.log(
          `${door}: ${toll.served} served, ${toll.failures.length} failed of ${toll.excused} excused, ${toll.left} left, ` +
            `slowest ${Math.round(toll.slowest)} ms, ${JSON.stringify(toll.done)}`,
        );
        if (seconds >= 30) expect(toll.left).toBeGreaterThan(1000);
      });
    }
    test(`goridge: a reload every second, and nothing else: no failure`, async () => {
      const toll = await ordeal({
        host,
        door: "goridge",
        seconds: Math.min(seconds, 20),
        clients: 16,
        torments: ["reload"],
        every: 1000,
        seed,
      });
      expect(toll.failures).toEqual([]);
    });
  });
}
