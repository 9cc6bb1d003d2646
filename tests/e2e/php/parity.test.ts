/**
 * One application behind php-fpm and behind each kind of worker: who asks cannot tell which.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { type Door, makeSite, open, phpTable, type Site, workerDoors } from "../../support/php_apps/site.ts";
import { plainStories, stories, type Story } from "../../support/php_apps/stories.ts";
import { Visitor } from "../../support/php_apps/visitor.ts";
import { hosts, type TestServer } from "../../support/server.ts";
import { allowSlowTests } from "../../support/wait.ts";

allowSlowTests(60_000);

/** Doors whose scripts see superglobals. */
const plainDoors: readonly Door[] = ["frankenphp", "fork"];

for (const host of hosts()) {
  describe(`parity on ${host}`, () => {
    const servers = new Map<Door, TestServer>();
    let site: Site;

    beforeAll(async () => {
      site = makeSite("parity");
      // One after the other: they share a fairlead.toml, which is read at the start.
      for (const door of ["fpm", ...workerDoors] as const) {
        servers.set(
          door,
          await open({
            host,
            site,
            php: phpTable(door, site, { concurrency: 2 }),
            config: { server: { max_body: "32MB" } },
          }),
        );
      }
    });
    afterAll(async () => {
      await Promise.all([...servers.values()].map((server) => server[Symbol.asyncDispose]()));
      site?.remove();
    });

    const tell = async (door: Door, story: Story) => {
      const visitor = new Visitor(servers.get(door)!.port);
      await story.tell(visitor);
      return visitor.seen;
    };
    const told = new Map<Story, Promise<unknown>>();
    const reference = (story: Story) => {
      const known = told.get(story) ?? tell("fpm", story);
      told.set(story, known);
      return known;
    };

    for (const door of workerDoors) {
      for (const story of stories) {
        // The library tells the length of the body that it leaves out; php-fpm does not.
        if (door === "native" && story.name === "HEAD") continue;
        test(`${door}: ${story.name}`, async () => {
          expect(await tell(door, story)).toEqual(await reference(story) as never);
        });
      }
    }
    for (const door of plainDoors) {
      for (const story of plainStories) {
        test(`${door}, plain PHP: ${story.name}`, async () => {
          expect(await tell(door, story)).toEqual(await reference(story) as never);
        });
      }
    }

    test("native: the length told to HEAD is that of GET", async () => {
      const visitor = new Visitor(servers.get("native")!.port);
      const length = (await visitor.go("HEAD", "/big")).header("content-length");
      expect(length).toBe(String((await visitor.go("GET", "/big")).body.length));
    });

    for (const door of ["native", "goridge"] as const) {
      test(`${door}: an exception that the application lets through is a 500 without its text`, async () => {
        const visitor = new Visitor(servers.get(door)!.port);
        const response = await visitor.go("GET", "/uncaught");
        expect(response.status).toBe(500);
        expect(Buffer.from(response.body).toString()).not.toContain("nobody");
        expect((await visitor.go("GET", "/")).status).toBe(200);
      });
    }
  });
}
