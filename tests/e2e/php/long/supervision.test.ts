/**
 * Workers that do not boot, that die again and again, and that are replaced by a deploy.
 *
 * @module
 */
import { describe, expect, test } from "bun:test";
import { renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { get, load, quantile, statuses } from "../../../support/php_apps/load.ts";
import { reload, reloadCommand } from "../../../support/php_apps/reload.ts";
import {
  type Door,
  idle,
  makeSite,
  type OpenOptions,
  page,
  phpProcesses,
  phpTable,
  rows,
  signal,
  type Site,
  whole,
  withServer,
} from "../../../support/php_apps/site.ts";
import { hosts, type TestServer } from "../../../support/server.ts";
import { allowSlowTests, pause, waitFor } from "../../../support/wait.ts";

allowSlowTests(60_000);

const readiness = async (server: TestServer) => {
  const response = await fetch(`${server.adminUrl}/readyz`);
  return { status: response.status, text: await response.text() };
};

/** A worker that says which release it is of. */
const release = (name: string, boot = "") =>
  `<?php ${boot}
$version = '${name}';
while (frankenphp_handle_request(static function () use ($version): void { usleep(2000); echo $version; })) {}
`;

for (const host of hosts()) {
  const scenario = (
    name: string,
    door: Door,
    more: Readonly<Record<string, unknown>>,
    body: (server: TestServer, site: Site) => Promise<void>,
    options: Partial<OpenOptions> & { readonly prepare?: (site: Site) => void } = {},
  ) =>
    test(`${name} (${door})`, async () => {
      const site = makeSite("lab");
      try {
        options.prepare?.(site);
        const { prepare: _, ...rest } = options;
        await withServer({ host, site, php: phpTable(door, site, more), ...rest }, (server) => body(server, site));
      } finally {
        site.remove();
      }
    });

  describe(`supervision on ${host}`, () => {
    for (const door of ["frankenphp", "goridge", "native"] as const) {
      scenario(
        "report 22: a boot that throws is tried ever more seldom, told of, and needs no restart once it is mended",
        door,
        { concurrency: 2 },
        async (server, site) => {
          const refused = await waitFor(() => get(server.port, "/fast"), { what: "the listener" });
          expect(refused.status).toBe(503);
          expect(refused.endMs).toBeLessThan(12_000);
          await pause(2000);
          const { status, text } = await readiness(server);
          expect(status).toBe(503);
          expect(text).toContain("no database today");
          // 0.1 s, 0.2 s, 0.4 s, ...: each of two places, and then one at a time.
          const tries = site.read("storage/tries").length;
          expect(tries).toBeGreaterThan(1);
          expect(tries).toBeLessThanOrEqual(12);
          site.write("boot.php", "<?php");
          await waitFor(async () => (await readiness(server)).status === 200, {
            what: "the mended workers",
            timeout: 8000,
          });
          expect((await get(server.port, "/fast"))?.text()).toBe("fast");
          await whole(server, 2, 15_000);
          await idle(server);
        },
        {
          prepare: (site) =>
            site.write("boot.php", "<?php Lab\\note('tries'); throw new RuntimeException('no database today');"),
          probe: "/livez",
          config: { admission: { grace: "500ms" } },
        },
      );
    }

    scenario(
      "a worker that dies with each request costs these requests, and the pool stays",
      "frankenphp",
      { concurrency: 2 },
      async (server) => {
        for (let i = 0; i < 12; i++) expect((await get(server.port, "/kill?signal=9"))?.status).toBe(502);
        await whole(server, 2);
        expect((await readiness(server)).status).toBe(200);
        expect((await get(server.port, "/fast"))?.text()).toBe("fast");
        await idle(server);
      },
    );

    scenario(
      "a boot that never ends is ended",
      "frankenphp",
      { concurrency: 1, boot_timeout: "500ms" },
      async (server, site) => {
        await waitFor(async () => (await readiness(server)).text.match(/boot/i), { what: "word of it on /readyz" });
        site.write("boot.php", "<?php");
        await whole(server, 1, 8000);
        expect((await get(server.port, "/fast"))?.text()).toBe("fast");
        expect(phpProcesses(server).length).toBe(1);
      },
      { prepare: (site) => site.write("boot.php", "<?php sleep(60);"), probe: "/livez" },
    );

    for (const door of ["frankenphp", "goridge", "fork"] as const) {
      scenario(
        "reports 5 and 7: reloads under load lose nothing and cost nobody a boot",
        door,
        { concurrency: 2 },
        async (server, site) => {
          const before = (await rows(server)).map(({ pid }) => pid);
          const running = load(server.port, "/echo?token=1&us=3000", 6);
          for (let i = 0; i < 3; i++) {
            await pause(250);
            if (i === 0) server.signal("SIGHUP");
            else if (i === 1) expect(await reloadCommand(server)).toMatchObject({ code: 0 });
            else expect(Object.values(await reload(server))).toEqual(["ok"]);
          }
          await pause(250);
          const answers = await running.stop();
          expect(statuses(answers)).toEqual({ 200: answers.length });
          expect(answers.every(({ text }) => text === "<1>")).toBe(true);
          expect(answers.length).toBeGreaterThan(100);
          // Far less than a boot.
          expect(quantile(answers.map(({ ms }) => ms), 0.9)).toBeLessThan(200);
          await idle(server);
          const after = (await rows(server)).map(({ pid }) => pid);
          expect(after.filter((pid) => before.includes(pid))).toEqual([]);
          await waitFor(() => !phpProcesses(server).some((pid) => before.includes(pid)), {
            what: "the old workers' end",
          });
          expect(site.read("storage/boots").length).toBeGreaterThan(door === "fork" ? 2 : 6);
        },
        { prepare: (site) => site.write("boot.php", "<?php usleep(400000);") },
      );
    }

    scenario(
      "a reload with code that does not boot keeps the old workers, and says so",
      "frankenphp",
      { concurrency: 2 },
      async (server, site) => {
        const running = load(server.port, "/echo?token=2&us=1000", 3);
        site.write("boot.php", "<?php throw new RuntimeException('half a release');");
        const failed = await reloadCommand(server);
        expect([failed.code, failed.output.includes("half a release")]).toEqual([1, true]);
        await pause(300);
        expect((await readiness(server)).status).toBe(200);
        site.write("boot.php", "<?php");
        expect(Object.values(await reload(server))).toEqual(["ok"]);
        const answers = await running.stop();
        expect(statuses(answers)).toEqual({ 200: answers.length });
        await whole(server, 2);
      },
    );

    test("report 29: a link that is flipped, with reload: old or new, none lost, new only once it returns", async () => {
      const site = makeSite();
      for (const name of ["one", "two", "three"]) site.write(`releases/${name}/worker.php`, release(name));
      const current = join(site.dir, "current");
      const flip = (name: string) => {
        symlinkSync(join(site.dir, "releases", name), `${current}.new`);
        renameSync(`${current}.new`, current);
      };
      flip("one");
      const php = { engine: "worker", root: "current", script: "worker.php", concurrency: 2, protocol: "frankenphp" };
      try {
        await withServer({ host, site, php }, async (server) => {
          for (const [from, to] of [["one", "two"], ["two", "three"]] as const) {
            const running = load(server.port, "/", 4);
            await pause(150);
            flip(to);
            await pause(100);
            expect(running.answers.every(({ text }) => text === from)).toBe(true);
            const began = performance.now();
            expect(Object.values(await reload(server))).toEqual(["ok"]);
            const returned = performance.now();
            await pause(150);
            const answers = await running.stop();
            expect(statuses(answers)).toEqual({ 200: answers.length });
            const early = answers.filter(({ at, ms, text }) => at - ms < began && at < began && text !== from);
            const late = answers.filter(({ at, ms, text }) => at - ms > returned && text !== to);
            expect([early, late]).toEqual([[], []]);
          }
        });
      } finally {
        site.remove();
      }
    });

    test("report 31: with `watch`, a file that is saved is in effect within 2 s", async () => {
      const site = makeSite();
      site.write(
        "worker.php",
        "<?php require __DIR__ . '/app/page.php';\nwhile (frankenphp_handle_request(page(...))) {}\n",
      );
      const write = (text: string) => site.write("app/page.php", `<?php function page(): void { echo '${text}'; }`);
      write("first");
      const php = { engine: "worker", script: "worker.php", concurrency: 1, watch: ["app/**/*.php"] };
      try {
        await withServer({ host, site, php }, async (server) => {
          expect(await page(server.port, "/")).toBe("first");
          for (const text of ["second", "third"]) {
            write(text);
            await waitFor(async () => await page(server.port, "/") === text, {
              what: `${text} to be served`,
              timeout: 2000,
            });
          }
          // Saved half-way: the old stays, and the next save is in effect.
          writeFileSync(join(site.dir, "app/page.php"), "<?php function page(): void {");
          await pause(600);
          expect(await page(server.port, "/")).toBe("third");
          write("fourth");
          await waitFor(async () => await page(server.port, "/") === "fourth", {
            what: "fourth to be served",
            timeout: 4000,
          });
        });
      } finally {
        site.remove();
      }
    });

    scenario(
      "report 26: one worker stopped and the others killed, the pool is whole again in 5 s",
      "frankenphp",
      { concurrency: 3 },
      async (server) => {
        await whole(server, 3);
        const [first, ...others] = (await rows(server)).map(({ pid }) => pid);
        signal(first!, "SIGSTOP");
        for (const pid of others) signal(pid, "SIGKILL");
        const started = performance.now();
        const answers = await Promise.all(Array.from({ length: 12 }, () => get(server.port, "/sleep?ms=20")));
        // One each, at most, was on its way to a worker that was no more.
        expect(answers.filter((answer) => answer?.status !== 200).length).toBeLessThanOrEqual(3);
        await waitFor(async () => {
          const pids = (await rows(server)).filter(({ state }) => state === "idle").map(({ pid }) => pid);
          return pids.length === 3 && !pids.includes(first!);
        }, { what: "three others", timeout: 5000 });
        expect(performance.now() - started).toBeLessThan(5000);
        await idle(server);
      },
      { config: { server: { timeout: "1s" } } },
    );
  });
}
