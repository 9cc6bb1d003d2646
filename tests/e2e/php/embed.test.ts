/**
 * PHP within processes of the server, by the npm package `@platformatic/php-node`: an application cannot tell it from php-fpm. Needs the package: `FAIRLEAD_TEST_PHP_NODE` names a folder whose `node_modules` has it.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { makeSite, open, phpTable, rows, type Site } from "../../support/php_apps/site.ts";
import { plainStories, stories, type Story } from "../../support/php_apps/stories.ts";
import { Visitor } from "../../support/php_apps/visitor.ts";
import { hosts, type TestServer } from "../../support/server.ts";
import { allowSlowTests, waitFor } from "../../support/wait.ts";

allowSlowTests(60_000);

const folder = process.env["FAIRLEAD_TEST_PHP_NODE"];

for (const host of hosts()) {
  (folder === undefined ? describe.skip : describe)(`PHP within the server, on ${host}`, () => {
    const servers = new Map<"fpm" | "embed", TestServer>();
    let site: Site;

    beforeAll(async () => {
      site = makeSite("parity");
      symlinkSync(join(folder!, "node_modules"), join(site.dir, "node_modules"));
      const config = { server: { max_body: "32MB" } };
      const table = phpTable("fpm", site, { concurrency: 2 });
      servers.set("fpm", await open({ host, site, php: table, config }));
      servers.set("embed", await open({ host, site, php: { ...table, engine: "embed" }, config }));
    });
    afterAll(async () => {
      await Promise.all([...servers.values()].map((server) => server[Symbol.asyncDispose]()));
      site?.remove();
    });

    const tell = async (door: "fpm" | "embed", story: Story) => {
      const visitor = new Visitor(servers.get(door)!.port);
      await story.tell(visitor);
      return visitor.seen;
    };
    for (const story of [...stories, ...plainStories]) {
      test(story.name, async () => {
        expect(await tell("embed", story)).toEqual(await tell("fpm", story) as never);
      });
    }

    test("a process that is killed costs its request, and is replaced", async () => {
      const server = servers.get("embed")!;
      const before = await rows(server);
      expect(before.length).toBe(2);
      process.kill(before[0]!.pid, "SIGKILL");
      await waitFor(async () => {
        const now = await rows(server);
        return now.filter(({ state }) => state === "idle").length === 2 &&
          now.every(({ pid }) => pid !== before[0]!.pid);
      }, { what: "another process" });
    });
  });
}
