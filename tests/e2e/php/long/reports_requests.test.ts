/**
 * What users of PHP application servers have reported about requests and answers, each as a test; the others are in
 * `reports.test.ts`.
 *
 * @module
 */
import { describe, expect, test } from "bun:test";
import { get } from "../../../support/php_apps/load.ts";
import { openFiles } from "../../../support/php_apps/open_files.ts";
import { doors, reportsOn } from "../../../support/php_apps/reports.ts";
import { makeSite, page, phpTable, withServer } from "../../../support/php_apps/site.ts";
import { multipart, Visitor } from "../../../support/php_apps/visitor.ts";
import { RawClient } from "../../../support/raw_http.ts";
import { hosts } from "../../../support/server.ts";
import { readSlowly } from "../../../support/slow_reader.ts";
import { allowSlowTests, pause, waitFor } from "../../../support/wait.ts";

allowSlowTests(60_000);

for (const host of hosts()) {
  const scenario = reportsOn(host);

  describe(`reports of workers on ${host}: requests and answers`, () => {
    scenario(
      "13: a session's lock is free again when its holder was ended",
      "frankenphp",
      { concurrency: 2 },
      async (server) => {
        const visitor = new Visitor(server.port);
        expect((await visitor.go("GET", "/")).status).toBe(200);
        const holder = visitor.go("GET", "/?hold=30");
        await pause(200);
        const next = visitor.go("GET", "/");
        // Somebody else's.
        expect((await new Visitor(server.port).go("GET", "/")).endMs).toBeGreaterThan(0);
        expect((await holder).status).toBe(504);
        expect((await next).status).not.toBe(0);
        expect((await visitor.go("GET", "/")).status).toBe(200);
      },
      { server: { timeout: "1s" } },
      `<?php while (frankenphp_handle_request(static function (): void {
        session_start();
        sleep((int) ($_GET['hold'] ?? 0));
        echo $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;
      })) {}`,
    );

    for (const door of ["frankenphp", "fork"] as const) {
      scenario(
        "15: a session is written before its answer is whole: the next worker has it",
        door,
        { concurrency: 3 },
        async (server) => {
          const workers = new Set<string>();
          const visitor = new Visitor(server.port);
          for (let i = 1; i <= 60; i++) {
            const [count, pid] = (await visitor.go("GET", "/")).text().split(" ");
            expect(Number(count)).toBe(i);
            workers.add(pid!);
            // Its worker stays behind for a moment.
            if (i % 3 === 0) void get(server.port, "/busy").catch(() => undefined);
          }
          expect(workers.size).toBeGreaterThan(1);
        },
        {},
        `<?php while (frankenphp_handle_request(static function (): void {
          if ($_SERVER['REQUEST_URI'] === '/busy') { usleep(8000); return; }
          session_start();
          echo $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1, ' ', getmypid();
        })) {}`,
      );
    }

    scenario(
      "16: $_SERVER that somebody kept does not change under him",
      "frankenphp",
      { concurrency: 1 },
      async (server) => {
        for (const path of ["/a?x=1", "/b?x=2", "/c?x=3"]) await page(server.port, path);
        expect(JSON.parse(await page(server.port, "/d"))).toEqual(["/a?x=1", "/b?x=2", "/c?x=3", "/d"]);
      },
      {},
      `<?php $all = []; while (frankenphp_handle_request(static function () use (&$all): void {
        $all[] = &$_SERVER;
        $kept = $_SERVER;
        $all[array_key_last($all)] = $kept;
        echo json_encode(array_column($all, 'REQUEST_URI'), JSON_UNESCAPED_SLASHES);
      })) {}`,
    );

    scenario(
      "17: putenv, $_ENV and .env of one request are not another's",
      "frankenphp",
      { concurrency: 1, env: { FROM_CONFIG: "yes" } },
      async (server) => {
        const look = () => page(server.port, "/look");
        const before = await look();
        expect(before).toContain('"yes"');
        await page(server.port, "/set");
        expect(await look()).toBe(before);
      },
      {},
      `<?php while (frankenphp_handle_request(static function (): void {
        if ($_SERVER['REQUEST_URI'] === '/set') { putenv('TENANT=ann'); putenv('FROM_CONFIG=no'); $_SERVER['TENANT'] = 'ann'; }
        echo json_encode([getenv('TENANT'), getenv('FROM_CONFIG'), $_SERVER['TENANT'] ?? null]);
      })) {}`,
    );

    test("32: paths behind a script's name, and encoded slashes, as with php-fpm", async () => {
      const site = makeSite("parity");
      const told: unknown[] = [];
      try {
        for (const door of ["fpm", "frankenphp"] as const) {
          await withServer({ host, site, php: phpTable(door, site, { concurrency: 1 }) }, async (server) => {
            const visitor = new Visitor(server.port);
            visitor.hide(`"SERVER_PORT": "${server.port}"`, "port");
            for (const path of ["/plain/server", "/plain/server?%2F=a%2Fb", "/index.php", "/a%2Fb?x"]) {
              await visitor.go("GET", path);
            }
            told.push(visitor.seen);
          });
        }
        expect(told[1]).toEqual(told[0] as never);
      } finally {
        site.remove();
      }
    });

    test("38: $_FILES at its limits, as with php-fpm", async () => {
      const site = makeSite("parity");
      const told: unknown[] = [];
      const ini = { upload_max_filesize: "2K", max_file_uploads: "3", max_input_vars: "30" };
      try {
        for (const door of ["fpm", "frankenphp"] as const) {
          await withServer({ host, site, php: phpTable(door, site, { concurrency: 1, ini }) }, async (server) => {
            const visitor = new Visitor(server.port);
            const file = (name: string, filename: string, size: number) => ({
              name,
              filename,
              type: "a/b",
              data: "x".repeat(size),
            });
            await visitor.go(
              "POST",
              "/plain/files",
              multipart([
                file("a", "big", 3000),
                file("b[]", "one", 10),
                file("b[]", "", 0),
                file("c[x][y]", "two", 20),
                file("d", "four", 4),
              ]),
            );
            await visitor.go(
              "POST",
              "/plain/files",
              multipart(Array.from({ length: 40 }, (_, i) => ({ name: `n${i}`, data: String(i) }))),
            );
            told.push(visitor.seen);
          });
        }
        expect(told[1]).toEqual(told[0] as never);
      } finally {
        site.remove();
      }
    });

    for (const door of [...doors, "fork"] as const) {
      scenario("39: events arrive as they are sent", door, { concurrency: 1 }, async (server) => {
        const response = await fetch(`${server.url}/sse`);
        expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
        const arrivals: number[] = [];
        let text = "";
        for await (const bytes of response.body!) {
          text += new TextDecoder().decode(bytes);
          while (arrivals.length < text.split("\n\n").length - 1) arrivals.push(performance.now());
        }
        expect(text).toBe([1, 2, 3, 4, 5].map((n) => `data: ${n}\n\n`).join(""));
        const gaps = arrivals.slice(1).map((at, index) => at - arrivals[index]!);
        expect(gaps.filter((gap) => gap > 50).length).toBe(4);
      });
    }

    for (const door of doors) {
      scenario("39: 192 MB go down to a slow reader in flat memory", door, { concurrency: 1 }, async (server) => {
        await page(server.port, "/fast");
        const request = "GET /download?mb=192 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        const { received, growth } = await readSlowly(server, request, 6);
        expect(received).toBeGreaterThan(192 * 1_048_576);
        expect(growth / 1_048_576).toBeLessThan(112);
      });
    }

    scenario(
      "41: an answer finished early is whole at once; its worker is busy until it ends, and has its time limit",
      "frankenphp",
      { concurrency: 1 },
      async (server, site) => {
        const early = await get(server.port, "/finish?ms=500");
        expect([early?.status, early?.text(), early?.complete]).toEqual([200, "early", true]);
        expect(early!.endMs).toBeLessThan(400);
        expect(site.read("storage/finished")).toBe("");
        const next = await get(server.port, "/fast");
        expect([next?.text(), site.read("storage/finished")]).toEqual(["fast", "."]);
        // One that never ends after its answer must not keep its worker for ever.
        expect((await get(server.port, "/finish?ms=60000"))?.text()).toBe("early");
        await waitFor(async () => await page(server.port, "/fast") === "fast", {
          what: "a worker again",
          timeout: 6000,
        });
      },
      { server: { timeout: "2s" }, admission: { grace: "5s" } },
    );

    for (const door of doors) {
      scenario(
        "44: small answers have their length, and the connection stays",
        door,
        { concurrency: 1 },
        async (server) => {
          const client = await RawClient.connect(server.port);
          for (let i = 0; i < 3; i++) {
            await client.send("GET /fast HTTP/1.1\r\nHost: a\r\n\r\n");
            const response = await client.read();
            expect([response?.framing, response?.text()]).toEqual(["length", "fast"]);
          }
          client.leave();
        },
      );
    }

    scenario(
      "35: a cookie of 16 KB passes",
      "frankenphp",
      { concurrency: 1 },
      async (server) => {
        const visitor = new Visitor(server.port);
        const response = await visitor.go("GET", "/", { headers: { Cookie: `a=${"x".repeat(15_000)}` } });
        expect([response.status, response.text()]).toEqual([200, "15000"]);
      },
      {},
      `<?php while (frankenphp_handle_request(static function (): void { echo strlen($_COOKIE['a']); })) {}`,
    );

    test("12: pools of their own: a slow one holds up no other", async () => {
      const site = makeSite("lab");
      const worker = phpTable("frankenphp", site, { concurrency: 1 });
      const slow = { match: { path: ["/sleep"] }, engine: "worker", script: "worker-goridge.php", concurrency: 1 };
      try {
        await withServer({ host, site, php: { ...worker, pools: { slow } } }, async (server) => {
          const running = Array.from({ length: 3 }, () => get(server.port, "/sleep?ms=300"));
          await pause(50);
          for (let i = 0; i < 5; i++) expect((await get(server.port, "/fast"))!.endMs).toBeLessThan(250);
          expect((await Promise.all(running)).map((answer) => answer?.status)).toEqual([200, 200, 200]);
        });
      } finally {
        site.remove();
      }
    });

    scenario("files do not stay open, whatever was uploaded", "goridge", { concurrency: 1 }, async (server) => {
      const visitor = new Visitor(server.port);
      await visitor.go("GET", "/fast");
      const before = openFiles(server.pid).length;
      const form = multipart([{ name: "f", filename: "f", data: "x".repeat(500_000) }]);
      for (let i = 0; i < 10; i++) await visitor.go("POST", "/upload", form);
      await waitFor(() => openFiles(server.pid).length <= before + 1, { what: "files to be closed" });
    });
  });
}
