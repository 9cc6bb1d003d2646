/**
 * Symfony through its own runner, Laravel behind a worker of ours, and Laravel Octane where an application has it: what they answer
 * is what php-fpm's answer is.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { laravel, type Made, symfony } from "../../../support/php_apps/composer.ts";
import { laravelStories, symfonyStories } from "../../../support/php_apps/framework_stories.ts";
import { idle, makeSite, open, type Site } from "../../../support/php_apps/site.ts";
import type { Story } from "../../../support/php_apps/stories.ts";
import { type Seen, Visitor } from "../../../support/php_apps/visitor.ts";
import { runtimes, type TestServer } from "../../../support/server.ts";
import { allowSlowTests } from "../../../support/wait.ts";

allowSlowTests(300_000);

interface Application {
  readonly title: string;
  readonly make: () => Made;
  readonly stories: readonly Story[];
  readonly env: (site: Site, dir: string) => Readonly<Record<string, string>>;
  /** `[php]` tables by name; they are compared with php-fpm. */
  readonly doors: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const laravelEnv = (_: Site, dir: string) => ({
  APP_BASE_PATH: dir,
  APP_PUBLIC_PATH: join(dir, "public"),
  APP_ENV: "production",
  APP_DEBUG: "false",
  APP_URL: "http://shop.example",
  SESSION_DRIVER: "file",
  CACHE_STORE: "file",
  LOG_CHANNEL: "stderr",
});

/** A copy of an application that has Octane, with our routes; what it requires is its own. */
function octane(): Made {
  const given = process.env["FAIRLEAD_E2E_OCTANE"];
  if (given === undefined) return { absent: "FAIRLEAD_E2E_OCTANE names no application" };
  if (!existsSync(join(given, "vendor/laravel/octane"))) return { absent: `${given} has no laravel/octane` };
  const dir = mkdtempSync(join(tmpdir(), "fairlead-octane-"));
  chmodSync(dir, 0o755);
  const routes = fileURLToPath(new URL("../../../support/php_apps/laravel/routes", import.meta.url));
  const script =
    `tar -C "$1" --exclude=./vendor --exclude=./node_modules -cf - . | tar -C "$2" -xf - && cp -r "$3" "$2"/ &&
    chmod -R a+rwX "$2"/storage "$2"/bootstrap/cache`;
  const { status, stderr } = spawnSync("sh", ["-c", script, "sh", given, dir, routes], { encoding: "utf8" });
  if (status !== 0) return { absent: stderr };
  symlinkSync(join(given, "vendor"), join(dir, "vendor"));
  return { dir };
}

const applications: readonly Application[] = [
  {
    title: "Symfony",
    make: symfony,
    stories: symfonyStories,
    env: (site) => ({ APP_ENV: "prod", APP_DEBUG: "0", APP_VAR: join(site.dir, "storage") }),
    doors: {
      "its FrankenPHP runner": { engine: "worker", script: "public/index.php", protocol: "frankenphp" },
      "its FrankenPHP runner, forked": {
        engine: "worker",
        script: "public/index.php",
        protocol: "frankenphp",
        isolation: "fork",
      },
    },
  },
  ...([11, 12] as const).map((version): Application => ({
    title: `Laravel ${version}`,
    make: () => laravel(version),
    stories: laravelStories,
    env: laravelEnv,
    doors: {
      "a worker": { engine: "worker", script: "worker-franken.php" },
      "a native worker": { engine: "worker", script: "worker-native.php", protocol: "native" },
      "a Goridge worker": { engine: "worker", script: "worker-goridge.php", protocol: "goridge" },
      "a forked worker": { engine: "worker", script: "worker-franken.php", isolation: "fork" },
    },
  })),
  {
    title: "Laravel Octane",
    make: octane,
    stories: laravelStories,
    env: (site, dir) => ({ ...laravelEnv(site, dir), LARAVEL_OCTANE: "1", MAX_REQUESTS: "500" }),
    doors: {
      "its FrankenPHP worker": { engine: "worker", script: "vendor/laravel/octane/bin/frankenphp-worker.php" },
      "its RoadRunner worker": { engine: "worker", script: "vendor/bin/roadrunner-worker" },
    },
  },
];

/** Titles of those to try; all when unset. */
const chosen = process.env["FAIRLEAD_TEST_FRAMEWORKS"]?.split(",");

for (const { title, make, stories, env, doors } of applications) {
  if (chosen?.includes(title) === false) continue;
  const made = make();
  if ("absent" in made) {
    describe.skip(title, () => test(`skipped: ${made.absent}`, () => {}));
    continue;
  }
  const { dir } = made;
  for (const host of runtimes()) {
    describe(`${title} on ${host}`, () => {
      const servers = new Map<string, TestServer>();
      let site: Site;
      beforeAll(async () => {
        site = makeSite();
        mkdirSync(join(site.dir, "storage/sessions"));
        chmodSync(join(site.dir, "storage/sessions"), 0o777);
        for (const [name, php] of [["php-fpm", { engine: "fpm" }], ...Object.entries(doors)] as const) {
          const table = {
            ...php,
            ...(name === "php-fpm" ? {} : { root: dir }),
            concurrency: 2,
            env: env(site, dir),
            ini: { "session.save_path": join(site.dir, "storage/sessions"), "opcache.enable": "1" },
          };
          servers.set(
            name,
            await open({ host, site, php: table, config: { server: { public: join(dir, "public") } } }),
          );
        }
      });
      afterAll(async () => {
        await Promise.all([...servers.values()].map((server) => server[Symbol.asyncDispose]()));
        site?.remove();
        if (title === "Laravel Octane" && host === runtimes().at(-1)) rmSync(dir, { recursive: true, force: true });
      });

      const told = new Map<Story, Promise<readonly Seen[]>>();
      const tell = async (name: string, story: Story) => {
        const server = servers.get(name)!;
        // One before, so that what boots with the first request is no part of it.
        await new Visitor(server.port).go("GET", "/json");
        const visitor = new Visitor(server.port);
        await story.tell(visitor);
        await idle(server);
        return visitor.seen;
      };
      for (const door of Object.keys(doors)) {
        for (const story of stories) {
          test(`${door}: ${story.name}`, async () => {
            const expected = told.get(story) ?? tell("php-fpm", story);
            told.set(story, expected);
            const seen = await tell(door, story);
            expect(seen).toEqual(await expected as never);
          });
        }
      }
    });
  }
}
