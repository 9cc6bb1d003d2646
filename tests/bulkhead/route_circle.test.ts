/**
 * A circle between the permit of a route and one that its script takes, in PHP.
 *
 * @module
 */
import { describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runtimes, startServer } from "../support/server.ts";
import { allowSlowTests } from "../support/wait.ts";

allowSlowTests(60_000);

const library = fileURLToPath(new URL("../../php/src/autoload.php", import.meta.url));

/** Each request holds the permit of its route; its script waits for that of the other. */
const page = `<?php
require ${JSON.stringify(library)};
$own = explode('/', $_SERVER['REQUEST_URI'])[1];
$other = new Fairlead\\Bulkhead\\Bulkhead($own === 'a' ? 'b' : 'a', 1, maxWait: 20);
// Until both have the permit of their route.
$in = __DIR__ . '/../in';
file_put_contents("$in/$own", '');
while (!file_exists("$in/a") || !file_exists("$in/b")) { clearstatcache(); usleep(1000); }
try {
  $slot = $other->acquire();
  echo 'granted';
} catch (Fairlead\\Bulkhead\\BulkheadFullException $full) {
  echo $full->reason;
}
`;

for (const host of runtimes()) {
  describe(`routes and their scripts on ${host}`, () => {
    test("are found to wait for each other: one is told at once, the other is served", async () => {
      const dir = mkdtempSync(join(tmpdir(), "fairlead-circle-"));
      mkdirSync(join(dir, "public"));
      writeFileSync(join(dir, "public/index.php"), page);
      mkdirSync(join(dir, "in"));
      // Scripts may run as somebody else.
      chmodSync(join(dir, "in"), 0o777);
      const route = (name: string) => ({ path: `/${name}/**`, name, max_concurrent: 1, max_wait: "20s" });
      const server = await startServer({
        host,
        dir,
        config: {
          log: { access: "off" },
          bulkhead: { store: "local", routes: [route("a"), route("b")] },
          php: { concurrency: 4, timeout: "30s" },
        },
      });
      try {
        const began = performance.now();
        const texts = await Promise.all(
          ["a", "b"].map(async (name) => await (await fetch(`${server.url}/${name}/x`)).text()),
        );
        expect(texts.sort()).toEqual(["deadlock", "granted"]);
        expect(performance.now() - began).toBeLessThan(15_000);
      } finally {
        await server.stop();
        rmSync(dir, { recursive: true, force: true });
      }
    });
  });
}
