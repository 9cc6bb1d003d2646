/**
 * What users of PHP application servers have reported, each as a test. The numbers are those of our notes on them; some have their
 * test elsewhere: 5, 7, 22, 26, 29 and 31 in `supervision.test.ts`, 17 and 18 in `state.test.ts` too.
 *
 * @module
 */
import { describe, expect, test } from "bun:test";
import { get, load, quantile, statuses } from "../../../support/php_apps/load.ts";
import { openFiles } from "../../../support/php_apps/open_files.ts";
import {
  counter,
  type Door,
  idle,
  makeSite,
  page,
  phpTable,
  rows,
  type Site,
  whole,
  withServer,
  zombies,
} from "../../../support/php_apps/site.ts";
import { multipart, Visitor } from "../../../support/php_apps/visitor.ts";
import { alive, residentBytes } from "../../../support/proc.ts";
import { RawClient } from "../../../support/raw_http.ts";
import { type Config, hosts, type TestServer } from "../../../support/server.ts";
import { allowSlowTests, pause, waitFor } from "../../../support/wait.ts";

allowSlowTests(60_000);

const doors = ["frankenphp", "goridge", "native"] as const;
const pids = (site: Site, name: string) => site.read(`storage/${name}`).trim().split("\n").filter(Boolean).map(Number);
const workerPids = async (server: TestServer) => (await rows(server)).map(({ pid }) => pid).sort((a, b) => a - b);

for (const host of hosts()) {
  const scenario = (
    name: string,
    door: Door,
    php: Readonly<Record<string, unknown>>,
    body: (server: TestServer, site: Site) => Promise<void>,
    config: Config = {},
    script?: string,
  ) =>
    test(`${name} (${door})`, async () => {
      const site = makeSite("lab");
      try {
        if (script !== undefined) site.write("worker-franken.php", script);
        if (php["max_requests"] === 25) site.write("boot.php", "<?php usleep(300000);");
        await withServer({ host, site, php: phpTable(door, site, php), config }, async (server) => {
          await body(server, site);
          if (alive(server.pid)) await idle(server);
        });
      } finally {
        site.remove();
      }
    });

  describe(`reports of workers on ${host}: time and death`, () => {
    for (const door of [...doors, "fork"] as const) {
      scenario(
        "2, 3 and 51: a script that hangs or spins is a 504 in time, its process is gone, others are not held up",
        door,
        { concurrency: 2 },
        async (server, site) => {
          const doomed = ["/hang", "/spin"].map((path, at) => pause(at * 100).then(() => get(server.port, path)));
          const others = load(server.port, "/fast", 1);
          const answers = await Promise.all(doomed);
          expect(answers.map((answer) => answer?.status)).toEqual([504, 504]);
          expect(Math.max(...answers.map((answer) => answer!.endMs))).toBeLessThan(1700);
          const gone = pids(site, "pids");
          expect(gone.length).toBe(2);
          await waitFor(() => !gone.some(alive), { what: "the end of the hanging processes", timeout: 1000 });
          await whole(server, 2);
          expect(statuses(await others.stop())[200]).toBeGreaterThan(0);
          for (const [path, pid] of [["/hang", gone[0]], ["/spin", gone[1]]] as const) {
            const line = server.output().split("\n").find((text) => text.includes(path) && text.includes(String(pid)));
            expect(line ?? `no line of the log has ${path} and ${pid}`).toMatch(/1\.\d s|took over/);
          }
        },
        { server: { timeout: "1s" } },
      );
    }

    for (const door of [...doors, "fork"] as const) {
      scenario(
        "23: a worker that crashes costs its own request only",
        door,
        { concurrency: 4 },
        async (server) => {
          const others = load(server.port, "/echo?token=7&us=4000", 6);
          for (let i = 0; i < 6; i++) {
            expect((await get(server.port, "/kill?signal=11"))?.status).toBe(502);
            await pause(50);
          }
          const answers = await others.stop();
          expect(statuses(answers)).toEqual({ 200: answers.length });
          await whole(server, 4);
          expect((await fetch(`${server.adminUrl}/readyz`)).status).toBe(200);
        },
      );

      scenario(
        "a response that its worker cannot end is cut off, never ended as if whole",
        door,
        { concurrency: 1 },
        async (server) => {
          const response = await get(server.port, "/half-kill");
          expect([response?.status, response?.complete]).toEqual([200, false]);
          expect(await page(server.port, "/fast")).toBe("fast");
        },
      );
    }

    scenario(
      "27: what a worker has started ends with it, deaf or not, and leaves no zombie",
      "frankenphp",
      { concurrency: 1, max_requests: 3 },
      async (server, site) => {
        await page(server.port, "/spawn");
        await page(server.port, "/spawn");
        expect((await get(server.port, "/kill?signal=9"))?.status).toBe(502);
        await page(server.port, "/spawn");
        for (let i = 0; i < 4; i++) await page(server.port, "/fast");
        const started = pids(site, "spawned");
        expect(started.length).toBe(3);
        await waitFor(() => !started.some(alive), { what: "the end of what the workers had started", timeout: 4000 });
        await waitFor(() => zombies(server).length === 0, { what: "no zombie", timeout: 2000 });
      },
    );

    for (const door of doors) {
      scenario(
        "28: SIGTERM lets what runs end, and workers end by themselves",
        door,
        { concurrency: 3 },
        async (server, site) => {
          const running = Array.from({ length: 3 }, () => get(server.port, "/sleep?ms=800&note=begun"));
          await waitFor(() => site.read("storage/begun").length === 3, { what: "three scripts to run" });
          const before = await workerPids(server);
          const exit = server.stop("SIGTERM");
          const answers = await Promise.all(running);
          expect(answers.map((answer) => [answer?.status, answer?.text()])).toEqual(Array(3).fill([200, "slept"]));
          expect((await exit).code).toBe(0);
          expect(site.read("storage/ends").length).toBe(3);
          expect(before.filter(alive)).toEqual([]);
        },
      );
    }
  });

  describe(`reports of workers on ${host}: queues and clients`, () => {
    scenario(
      "9: nothing runs for clients that left while they waited",
      "goridge",
      { concurrency: 1 },
      async (server, site) => {
        const running = get(server.port, "/sleep?ms=700&note=slow");
        await waitFor(() => site.read("storage/slow").length === 1, { what: "the slow script to run" });
        const leaving = await Promise.all(Array.from({ length: 9 }, () => RawClient.connect(server.port)));
        for (const client of leaving) await client.send("GET /fast?note=ran HTTP/1.1\r\nHost: a\r\n\r\n");
        await waitFor(async () => await counter(server, "fairlead_admission_queued") === 9, { what: "nine to wait" });
        for (const client of leaving) client.leave();
        expect((await running)?.status).toBe(200);
        expect((await get(server.port, "/fast?note=ran"))?.status).toBe(200);
        expect(site.read("storage/ran").length).toBe(1);
      },
    );

    for (const door of doors) {
      scenario(
        "20 and 40: 200 streams given up by their readers; the pool is whole in 2 s and counts no crash",
        door,
        { concurrency: 4 },
        async (server) => {
          await whole(server, 4);
          let left = 0;
          await Promise.all(Array.from({ length: 4 }, async () => {
            for (let i = 0; i < 50; i++) {
              const client = await RawClient.connect(server.port);
              await client.send(`GET /tokens?token=${i} HTTP/1.1\r\nHost: a\r\n\r\n`);
              if (i % 2 === 0) await waitFor(() => client.pending.length > 100, { what: "its beginning", every: 1 });
              client.leave();
              left++;
            }
          }));
          const started = performance.now();
          expect(left).toBe(200);
          await whole(server, 4, 2000);
          const answers = await Promise.all(Array.from({ length: 4 }, () => get(server.port, "/sleep?ms=100")));
          expect(answers.map((answer) => answer?.status)).toEqual([200, 200, 200, 200]);
          expect(performance.now() - started).toBeLessThan(2000);
          expect(await counter(server, "fairlead_php_restarts_total", "died")).toBe(0);
          expect(await counter(server, "fairlead_php_restarts_total", "stuck")).toBe(0);
        },
      );
    }

    scenario(
      "40: 20 endless streams given up, and every worker is free again",
      "frankenphp",
      { concurrency: 2 },
      async (server) => {
        for (let i = 0; i < 20; i++) {
          const client = await RawClient.connect(server.port);
          await client.send("GET /endless HTTP/1.1\r\nHost: a\r\n\r\n");
          await waitFor(() => client.pending.length > 10_000, { what: "the stream", every: 2 });
          client.leave();
        }
        const answers = await Promise.all([get(server.port, "/sleep?ms=50"), get(server.port, "/sleep?ms=50")]);
        expect(answers.map((answer) => answer?.status)).toEqual([200, 200]);
        expect(Math.max(...answers.map((answer) => answer!.endMs))).toBeLessThan(2000);
      },
    );

    scenario(
      "37: 30 slow uploads keep no worker and nobody waiting",
      "goridge",
      { concurrency: 1 },
      async (server, site) => {
        const slow = await Promise.all(Array.from({ length: 30 }, () => RawClient.connect(server.port)));
        const piece = "x".repeat(500);
        for (const client of slow) {
          await client.send(
            "POST /upload?note=up HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2000\r\n\r\n",
            piece,
          );
        }
        const times: number[] = [];
        for (let step = 0; step < 3; step++) {
          for (let i = 0; i < 10; i++) {
            const response = await get(server.port, "/fast");
            expect(response?.text()).toBe("fast");
            times.push(response!.endMs);
          }
          expect((await rows(server)).map(({ state }) => state)).toEqual(["idle"]);
          if (step === 2) break;
          for (const client of slow) await client.send(piece);
        }
        expect(quantile(times, 0.9)).toBeLessThan(200);
        expect(site.read("storage/up")).toBe("");
        for (const client of slow) await client.send(piece);
        const answers = await Promise.all(slow.map((client) => client.read()));
        expect(new Set(answers.map((answer) => answer?.text().split(" ")[0]))).toEqual(new Set(["2000"]));
      },
    );

    scenario(
      "8: more workers while requests wait, fewer again; nobody fails",
      "frankenphp",
      { concurrency: 1, max_concurrency: 3 },
      async (server) => {
        const many = load(server.port, "/sleep?ms=30", 12);
        await waitFor(async () => (await rows(server)).length >= 2, { what: "a second worker", timeout: 3000 });
        await pause(500);
        const answers = await many.stop();
        expect(statuses(answers)).toEqual({ 200: answers.length });
      },
    );

    scenario(
      "10: one slow request holds up no other",
      "frankenphp",
      { concurrency: 2 },
      async (server) => {
        const slow = get(server.port, "/sleep?ms=900");
        const times: number[] = [];
        const end = performance.now() + 700;
        while (performance.now() < end) times.push((await get(server.port, "/fast"))!.endMs);
        expect(quantile(times, 0.9)).toBeLessThan(100);
        expect((await slow)?.status).toBe(200);
      },
    );
  });

  describe(`reports of workers on ${host}: renewal`, () => {
    scenario(
      "24: a worker that grows is replaced between requests, and none fails",
      "frankenphp",
      { concurrency: 2, max_memory: "64MB", ini: { memory_limit: "512M" } },
      async (server) => {
        const seen = new Map<string, number>();
        let replaced = 0;
        const clients = Array.from({ length: 3 }, async () => {
          while (replaced < 2) {
            const response = await get(server.port, "/leak");
            expect(response?.status).toBe(200);
            const [pid, kept] = response!.text().split(" ");
            seen.set(pid!, Math.max(seen.get(pid!) ?? 0, Number(kept)));
            await pause(40);
          }
        });
        await waitFor(async () => {
          replaced = await counter(server, "fairlead_php_restarts_total", "memory");
          return replaced >= 2;
        }, { what: "two workers to be replaced for their memory", timeout: 15_000 }).finally(() => replaced = 2);
        await Promise.all(clients);
        expect(seen.size).toBeGreaterThan(2);
        expect(await counter(server, "fairlead_php_restarts_total", "died")).toBe(0);
      },
    );

    for (const door of ["frankenphp", "goridge"] as const) {
      scenario(
        "25: at max_requests a successor has booted, no two go at once, none serves more",
        door,
        { concurrency: 4, max_requests: 120 },
        async (server, site) => {
          const served = new Map<string, number>();
          const times: number[] = [];
          await Promise.all(Array.from({ length: 4 }, async () => {
            for (let i = 0; i < 250; i++) {
              const response = await get(server.port, "/pid");
              expect(response?.status).toBe(200);
              served.set(response!.text(), (served.get(response!.text()) ?? 0) + 1);
              times.push(response!.endMs);
              await pause(4);
            }
          }));
          // A boot takes less than a quarter of a life here: where it takes longer than one, the last that works goes on past its limit.
          expect(Math.max(...served.values())).toBeLessThanOrEqual(120);
          expect(served.size).toBeGreaterThan(9);
          // A boot takes 300 ms.
          expect(quantile(times, 0.97)).toBeLessThan(290);
          expect(site.read("storage/boots").length).toBeGreaterThan(9);
          expect(await counter(server, "fairlead_php_restarts_total", "died")).toBe(0);
        },
      );
    }

    scenario(
      "46: an idle worker is replaced after idle_ttl",
      "frankenphp",
      { concurrency: 1, idle_ttl: "1s" },
      async (server) => {
        const first = await page(server.port, "/pid");
        expect(await page(server.port, "/pid")).toBe(first);
        await waitFor(async () => !(await rows(server)).some(({ pid }) => String(pid) === first), {
          what: "another worker",
        });
        const next = await get(server.port, "/pid");
        expect(next?.status).toBe(200);
        expect(next?.text()).not.toBe(first);
      },
    );
  });

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
        const before = residentBytes(server.pid);
        const client = await RawClient.connect(server.port);
        client.socket.removeAllListeners("data");
        client.socket.pause();
        await client.send("GET /download?mb=192 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        let peak = 0;
        for (let looks = 0; looks < 6; looks++) {
          await pause(100);
          peak = Math.max(peak, residentBytes(server.pid));
        }
        let received = 0;
        const ended = new Promise<void>((done) => client.socket.once("close", () => done()));
        client.socket.on("data", (bytes: Uint8Array) => {
          received += bytes.length;
          if (received % 7 === 0) peak = Math.max(peak, residentBytes(server.pid));
        });
        client.socket.resume();
        await ended;
        expect(received).toBeGreaterThan(192 * 1_048_576);
        expect((peak - before) / 1_048_576).toBeLessThan(112);
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
