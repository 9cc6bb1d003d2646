/**
 * What goes wrong in production, on purpose: killed workers, overload, slow and leaving clients, timeouts, shutdown.
 *
 * @module
 */
import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import pLimit from "p-limit";
import { freePorts } from "../support/ports.ts";
import { openFiles } from "../support/php_apps/open_files.ts";
import { alive, fpmChildren, residentBytes } from "../support/proc.ts";
import { ask, RawClient, type RawResponse } from "../support/raw_http.ts";
import {
  type Config,
  type HostName,
  hosts,
  runToExit,
  startServer,
  type TestServer,
  total,
} from "../support/server.ts";
import { allowSlowTests, pause, waitFor, within } from "../support/wait.ts";

// Waiting for its turn is part of a test's time.
allowSlowTests(600_000);

/** Each script notes its start in `notes/NAME`, one byte a run. */
const note = (name: string) => `file_put_contents(__DIR__ . '/../notes/${name}', '.', FILE_APPEND);`;

const scripts: Readonly<Record<string, string>> = {
  "fast.php": `<?php ${note("fast")} echo 'fast';`,
  "work.php": "<?php usleep(20000); echo 'worked';",
  "slow.php": `<?php ${note("slow")} usleep((int) (1e6 * ($_GET['s'] ?? 1))); echo 'slow';`,
  "held.php": `<?php ${note("held")} while (!file_exists(__DIR__ . '/../notes/go')) usleep(10000); echo 'held';`,
  "waiter.php": `<?php ${note("waiter")} echo 'waiter';`,
  "hang.php": "<?php file_put_contents(__DIR__ . '/../notes/pid', getmypid()); sleep(30); echo 'never';",
  "endless.php": `<?php ${note("endless")} for (;;) { echo str_repeat('x', 10000); flush(); usleep(20000); }`,
  "upload.php": `<?php ${note("upload")} $n = 0; $h = hash_init('crc32b'); $f = fopen('php://input', 'rb');
    while (!feof($f)) { $b = fread($f, 65536); $n += strlen($b); hash_update($h, $b); } echo $n, ' ', hash_final($h);`,
  "download.php":
    "<?php $b = str_repeat('0123456789abcdef', 65536); for ($i = 0; $i < 256; $i++) { echo $b; flush(); }",
  "sse.php": `<?php header('Content-Type: text/event-stream'); header('X-Accel-Buffering: no');
    while (ob_get_level()) ob_end_flush();
    for ($i = 1; $i <= 5; $i++) { echo "data: $i\\n\\n"; flush(); usleep(150000); }`,
  "finish.php": `<?php ${note("finish")} echo 'early'; fastcgi_finish_request(); usleep(1000000); ${note("finished")}`,
  "headers.php": `<?php header('X-Big: ' . str_repeat('b', 20000));
    for ($i = 0; $i < 50; $i++) setcookie("c$i", "v$i"); header('Link: <a>'); header('Link: <b>', false); echo 'h';`,
  "die.php": "<?php posix_kill(getmypid(), 9);",
  "half.php": "<?php echo str_repeat('x', 200000); flush(); usleep(200000); posix_kill(getmypid(), 9);",
};

class Site {
  readonly dir: string = mkdtempSync(join(tmpdir(), "fairlead-chaos-"));

  constructor() {
    mkdirSync(join(this.dir, "public"));
    mkdirSync(join(this.dir, "notes"));
    for (const [name, source] of Object.entries(scripts)) writeFileSync(join(this.dir, "public", name), source);
    // PHP runs as another user when root starts it.
    chmodSync(join(this.dir, "notes"), 0o777);
  }

  read(name: string): string {
    const path = join(this.dir, "notes", name);
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  }

  /** How often a script was started. */
  runs(name: string): number {
    return this.read(name).length;
  }

  /** Lets `held.php` go on to its end. */
  release(): void {
    writeFileSync(join(this.dir, "notes", "go"), "");
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }
}

const get = (path: string) => `GET /${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;

const request = (server: TestServer, path: string): Promise<RawResponse | undefined> =>
  ask(server.port, get(path), { timeout: 40_000 });

const gauges = [
  "fairlead_admission_in_use",
  "fairlead_admission_queued",
  "fairlead_http_requests_in_flight",
  "fairlead_php_busy",
];

/** Waits until nothing is counted as running or waiting any more; a gauge that drifted never comes to zero. */
async function idle(server: TestServer): Promise<void> {
  if (server.host === "nginx") return;
  await waitFor(async () => {
    const metrics = await server.metrics();
    const values = gauges.map((name) => [name, total(metrics, name)]);
    if (values.every(([, value]) => value === 0)) return true;
    throw new Error(JSON.stringify(values));
  }, { what: "every gauge at zero", timeout: 3000 });
}

/** Waits until `count` requests stand in line. */
async function queued(server: TestServer, count: number): Promise<void> {
  // nginx, which is here to test the tests, counts nothing that could be waited for.
  if (server.host === "nginx") return pause(300);
  await waitFor(async () => total(await server.metrics(), "fairlead_admission_queued") === count, {
    what: `${count} requests in line`,
    timeout: 5000,
  });
}

/** Those that have no name any more. */
const namelessFiles = (pid: number) => openFiles(pid).filter((path) => path.endsWith("(deleted)"));

/** Whether nobody listens on the port. */
async function refuses(port: number): Promise<boolean> {
  try {
    (await RawClient.connect(port)).leave();
    return false;
  } catch {
    return true;
  }
}

/** Most scenarios wait more than they work: two of them at once, for they look at the time as well. */
const twoAtOnce = pLimit(2);

for (const host of hosts()) {
  /** What one test does: a site and a server of its own, and nothing left running after it. */
  const scene = (config: Config, body: (server: TestServer, site: Site) => Promise<void>) => async () => {
    const site = new Site();
    const server = await startServer({
      host: host as HostName,
      dir: site.dir,
      config: { log: { access: "off" }, ...config },
    });
    try {
      await body(server, site);
    } catch (error) {
      throw new Error(`${(error as Error).message}\n--- output of ${host} ---\n${server.output().slice(-4000)}`);
    } finally {
      await server[Symbol.asyncDispose]();
      site.remove();
    }
  };
  type Scene = Parameters<typeof scene>;
  const scenario = (name: string, ...how: Scene) =>
    test.concurrent(name, () => twoAtOnce(() => within(60_000, "The scenario", scene(...how)())));
  /** For what needs the machine to itself. */
  const alone = (name: string, ...how: Scene) => test(name, scene(...how));

  describe(`chaos on ${host}: workers that die`, () => {
    alone("a killed worker costs its own request and nobody else's", { php: { concurrency: 4 } }, async (server) => {
      const results: number[] = [];
      let running = true;
      const clients = Array.from({ length: 8 }, async () => {
        while (running) {
          try {
            const response = await fetch(`${server.url}/work.php`);
            const text = await response.text();
            results.push(response.status === 200 && text !== "worked" ? -1 : response.status);
          } catch {
            results.push(0);
          }
        }
      });
      let kills = 0;
      const end = performance.now() + 6000;
      while (performance.now() < end) {
        // Five kills a second, for there to be work between them.
        await pause(200);
        const children = fpmChildren(server.pid);
        const victim = children[Math.floor(Math.random() * children.length)];
        if (victim === undefined) continue;
        process.kill(victim, "SIGKILL");
        kills++;
      }
      await waitFor(() => fpmChildren(server.pid).length === 4, { what: "the pool to be whole", timeout: 1000 });
      running = false;
      await Promise.all(clients);
      const failed = results.filter((status) => status !== 200);
      expect(kills).toBeGreaterThan(15);
      expect(failed.length).toBeLessThanOrEqual(kills);
      expect(failed.filter((status) => status !== 502)).toEqual([]);
      // 6 s of 4 workers at 20 ms are 1,200; half of it must have been served through all the killing.
      expect(results.length - failed.length).toBeGreaterThan(400);
      await idle(server);
    });

    scenario("a worker that dies before it answers is a 502", { php: { concurrency: 1 } }, async (server) => {
      expect((await request(server, "die.php"))?.status).toBe(502);
      expect((await request(server, "fast.php"))?.text()).toBe("fast");
      await idle(server);
    });

    scenario("a body cut short is never ended as if whole", { php: { concurrency: 1 } }, async (server) => {
      const response = await request(server, "half.php");
      expect([response?.status, response?.complete]).toEqual([200, false]);
      expect((await request(server, "fast.php"))?.text()).toBe("fast");
      await idle(server);
    });

    scenario(
      "a hanging script is a 504 in time, and its process is gone",
      { server: { timeout: "1s" }, php: { concurrency: 1 } },
      async (server, site) => {
        const response = await request(server, "hang.php");
        expect(response?.status).toBe(504);
        expect(response!.endMs).toBeGreaterThan(900);
        expect(response!.endMs).toBeLessThan(1500);
        const pid = Number(site.read("pid"));
        expect(pid).toBeGreaterThan(1);
        await waitFor(() => !alive(pid), { what: `the end of the hanging process ${pid}`, timeout: 1000 });
        expect((await request(server, "fast.php"))?.text()).toBe("fast");
        await idle(server);
      },
    );
  });

  describe(`chaos on ${host}: more than it can do`, () => {
    scenario(
      "past max_queue a request is refused at once, with Retry-After",
      { php: { concurrency: 1 }, admission: { max_queue: 2, grace: "20s" } },
      async (server, site) => {
        const running = request(server, "held.php");
        await waitFor(() => site.runs("held") === 1, { what: "the script to run" });
        const waiting = [request(server, "waiter.php"), request(server, "waiter.php")];
        await queued(server, 2);
        for (let more = 0; more < 3; more++) {
          const refused = await request(server, "fast.php");
          expect(refused?.status).toBe(503);
          expect(refused!.endMs).toBeLessThan(300);
          expect(Number(refused!.header("retry-after"))).toBeGreaterThanOrEqual(1);
        }
        site.release();
        const served = await Promise.all([running, ...waiting]);
        expect(served.map((response) => response?.status)).toEqual([200, 200, 200]);
        expect(site.runs("fast")).toBe(0);
        await idle(server);
      },
    );

    scenario(
      "past grace a waiting request is refused, with Retry-After",
      { php: { concurrency: 1 }, admission: { max_queue: 10, grace: "300ms" } },
      async (server, site) => {
        const running = request(server, "held.php");
        await waitFor(() => site.runs("held") === 1, { what: "the script to run" });
        const refused = await request(server, "waiter.php");
        expect(refused?.status).toBe(503);
        expect(refused!.endMs).toBeGreaterThan(250);
        expect(refused!.endMs).toBeLessThan(900);
        expect(Number(refused!.header("retry-after"))).toBeGreaterThanOrEqual(1);
        site.release();
        expect((await running)?.status).toBe(200);
        expect(site.runs("waiter")).toBe(0);
        await idle(server);
      },
    );

    scenario(
      "who waits is served in order of arrival",
      { php: { concurrency: 1 }, admission: { max_queue: 50, grace: "20s" } },
      async (server, site) => {
        const running = request(server, "held.php");
        await waitFor(() => site.runs("held") === 1, { what: "the script to run" });
        const order: number[] = [];
        const waiting: Promise<unknown>[] = [];
        for (let place = 1; place <= 8; place++) {
          waiting.push(request(server, "work.php").then(() => order.push(place)));
          await queued(server, place);
        }
        site.release();
        await Promise.all([running, ...waiting]);
        expect(order).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
        await idle(server);
      },
    );
  });

  describe(`chaos on ${host}: clients that leave or dawdle`, () => {
    scenario(
      "nothing runs for a client that left while it waited",
      { php: { concurrency: 1 } },
      async (server, site) => {
        const running = request(server, "held.php");
        await waitFor(() => site.runs("held") === 1, { what: "the script to run" });
        const leaving = await Promise.all(Array.from({ length: 9 }, () => RawClient.connect(server.port)));
        for (const client of leaving) await client.send(get("waiter.php"));
        await queued(server, 9);
        for (const client of leaving) client.leave();
        await queued(server, 0);
        site.release();
        expect((await running)?.status).toBe(200);
        expect((await request(server, "fast.php"))?.status).toBe(200);
        expect([site.runs("held"), site.runs("fast"), site.runs("waiter")]).toEqual([1, 1, 0]);
        await idle(server);
      },
    );

    scenario(
      "a client that leaves a running script frees its worker",
      { php: { concurrency: 1 } },
      async (server, site) => {
        for (let round = 1; round <= 5; round++) {
          const client = await RawClient.connect(server.port);
          await client.send(get("endless.php"));
          await waitFor(() => client.pending.length > 1000, { what: "the script to speak" });
          client.leave();
          const next = await within(3000, "The worker's return", request(server, "fast.php"));
          expect([site.runs("endless"), next?.status]).toEqual([round, 200]);
        }
        await idle(server);
      },
    );

    scenario(
      "a client that takes no byte of its response loses it",
      { server: { timeout: "1s", body_timeout: "1s", keep_alive: "1s" }, php: { concurrency: 1 } },
      async (server, site) => {
        writeFileSync(join(site.dir, "public", "large.bin"), new Uint8Array(32 * 1024 * 1024));
        const open = () => openFiles(server.pid).filter((path) => path.endsWith("/large.bin")).length;
        for (const path of ["large.bin", "download.php"]) {
          const client = await RawClient.connect(server.port);
          client.socket.removeAllListeners("data");
          client.socket.pause();
          await client.send(get(path));
          if (path === "large.bin") await waitFor(() => open() === 1, { what: "the file to be opened" });
        }
        await waitFor(() => open() === 0, { what: "the file to be closed", timeout: 15_000 });
        await waitFor(async () => total(await server.metrics(), "fairlead_http_requests_in_flight") === 0, {
          what: "both requests to end",
          timeout: 15_000,
        });
        expect((await request(server, "fast.php"))?.text()).toBe("fast");
      },
    );

    scenario(
      "an upload that never ends is a 408 at the deadline",
      { server: { timeout: "1s" }, php: { concurrency: 1 } },
      async (server, site) => {
        const client = await RawClient.connect(server.port);
        await client.send("POST /upload.php HTTP/1.1\r\nHost: a\r\nContent-Length: 6000\r\nConnection: close\r\n\r\n");
        let dripping = true;
        const drip = (async () => {
          while (dripping) {
            await client.send("u").catch(() => dripping = false);
            await pause(50);
          }
        })();
        const response = await client.read({ timeout: 5000 });
        dripping = false;
        await drip;
        expect(response?.status).toBe(408);
        expect(response!.endMs).toBeLessThan(2000);
        expect(site.runs("upload")).toBe(0);
        await idle(server);
      },
    );

    scenario(
      "a large upload that is turned away leaves no file open",
      { php: { concurrency: 1 }, admission: { max_queue: 2, grace: "300ms" } },
      async (server, site) => {
        const running = request(server, "held.php");
        await waitFor(() => site.runs("held") === 1, { what: "the script to run" });
        const upload = () =>
          ask(
            server.port,
            `POST /upload.php HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\nConnection: close\r\n\r\n${
              "u".repeat(200_000)
            }`,
          );
        const answers = await Promise.all(Array.from({ length: 8 }, upload));
        expect(answers.map((answer) => answer?.status)).toEqual(Array(8).fill(503));
        await waitFor(() => namelessFiles(server.pid).length === 0, { what: "the files to be closed", timeout: 1000 });
        site.release();
        expect((await running)?.status).toBe(200);
        expect((await upload())?.text().split(" ")[0]).toBe("200000");
        await idle(server);
        expect(namelessFiles(server.pid)).toEqual([]);
      },
    );

    alone("slow uploads keep no worker", { php: { concurrency: 2 } }, async (server, site) => {
      const clients = await Promise.all(Array.from({ length: 50 }, () => RawClient.connect(server.port)));
      const piece = "u".repeat(1000);
      for (const client of clients) {
        await client.send(
          `POST /upload.php HTTP/1.1\r\nHost: a\r\nContent-Length: 6000\r\nConnection: close\r\n\r\n`,
          piece,
        );
      }
      const times: number[] = [];
      for (let step = 0; step < 4; step++) {
        for (const client of clients) await client.send(piece);
        for (let ask = 0; ask < 5; ask++) {
          const response = await request(server, "fast.php");
          expect(response?.status).toBe(200);
          times.push(response!.endMs);
        }
        // Whoever would begin PHP before an upload is whole has had the time to.
        await pause(100);
      }
      expect(site.runs("upload")).toBe(0);
      expect(Math.max(...times)).toBeLessThan(500);
      for (const client of clients) await client.send(piece);
      const answers = await Promise.all(clients.map((client) => client.read()));
      expect(new Set(answers.map((answer) => answer?.text().split(" ")[0]))).toEqual(new Set(["6000"]));
      expect(site.runs("upload")).toBe(50);
      await idle(server);
    });
  });

  describe(`chaos on ${host}: streams`, () => {
    scenario("server-sent events arrive one by one", { php: { concurrency: 1 } }, async (server) => {
      const response = await fetch(`${server.url}/sse.php`);
      expect(response.headers.get("content-type")).toMatch(/^text\/event-stream/);
      const arrivals: number[] = [];
      let text = "";
      const decoder = new TextDecoder();
      for (const reader = response.body!.getReader();;) {
        const { done, value } = await reader.read();
        if (done) break;
        text += decoder.decode(value, { stream: true });
        const events = text.split("\n\n").length - 1;
        while (arrivals.length < events) arrivals.push(performance.now());
      }
      expect(text).toBe("data: 1\n\ndata: 2\n\ndata: 3\n\ndata: 4\n\ndata: 5\n\n");
      const gaps = arrivals.slice(1).map((at, index) => at - arrivals[index]!);
      expect(gaps.filter((gap) => gap > 75).length).toBe(4);
      await idle(server);
    });

    const MiB = 1024 * 1024;
    const size = 256 * MiB;
    /** Memory may grow by what a garbage collector leaves lying about, and not by what passes through. */
    const flat = (host === "deno" ? 176 : 112) * MiB;

    alone("256 MiB go down to a slow reader in flat memory", { php: { concurrency: 1 } }, async (server) => {
      await request(server, "fast.php");
      const before = residentBytes(server.pid);
      const client = await RawClient.connect(server.port);
      client.socket.removeAllListeners("data");
      client.socket.pause();
      await client.send(get("download.php"));
      let peak = 0;
      // A server that does not wait for its reader would hold it all by now.
      for (let looks = 0; looks < 15; looks++) {
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
      await within(30_000, "The download", ended);
      expect(received).toBeGreaterThan(size);
      expect(peak - before).toBeLessThan(flat);
      await idle(server);
    });

    alone(
      "256 MiB go up in flat memory",
      { server: { max_body: "300MB", timeout: "60s" }, php: { concurrency: 1, ini: { post_max_size: "0" } } },
      async (server) => {
        await request(server, "fast.php");
        const before = residentBytes(server.pid);
        const client = await RawClient.connect(server.port);
        const piece = new Uint8Array(MiB).fill(0x61);
        await client.send(
          `POST /upload.php HTTP/1.1\r\nHost: a\r\nContent-Type: application/octet-stream\r\nContent-Length: ${size}\r\nConnection: close\r\n\r\n`,
        );
        let peak = 0;
        for (let sent = 0; sent < size; sent += MiB) {
          await client.send(piece);
          peak = Math.max(peak, residentBytes(server.pid));
        }
        const response = await client.read({ timeout: 30_000 });
        peak = Math.max(peak, residentBytes(server.pid));
        expect([response?.status, response?.text().split(" ")[0]]).toEqual([200, String(size)]);
        expect(peak - before).toBeLessThan(flat);
        await idle(server);
      },
    );

    scenario(
      "fastcgi_finish_request ends the response, and the worker stays taken",
      { php: { concurrency: 1 } },
      async (server, site) => {
        const early = await request(server, "finish.php");
        expect([early?.status, early?.text(), early?.complete]).toEqual([200, "early", true]);
        expect(early!.endMs).toBeLessThan(700);
        expect(site.runs("finished")).toBe(0);
        const next = await request(server, "fast.php");
        expect([next?.status, site.runs("finished")]).toEqual([200, 1]);
        await idle(server);
      },
    );

    scenario("big headers and many cookies come back as they were set", { php: { concurrency: 1 } }, async (server) => {
      const response = await request(server, "headers.php");
      expect(response?.status).toBe(200);
      expect(response!.header("x-big")).toBe("b".repeat(20_000));
      const cookies = response!.all("set-cookie");
      expect(cookies).toEqual(Array.from({ length: 50 }, (_, index) => `c${index}=v${index}`));
      expect(response!.all("link").join(", ")).toBe("<a>, <b>");
    });
  });

  describe(`chaos on ${host}: beginnings and ends`, () => {
    scenario(
      "SIGTERM: who runs is served, who waits gets 503, and the exit is clean",
      { php: { concurrency: 2 }, admission: { max_queue: 10, grace: "20s" } },
      async (server, site) => {
        const running = [request(server, "slow.php?s=1.5"), request(server, "slow.php?s=1.5")];
        await waitFor(() => site.runs("slow") === 2, { what: "two slow scripts to run" });
        const waiting = Array.from({ length: 4 }, () => request(server, "waiter.php"));
        await queued(server, 4);
        const children = fpmChildren(server.pid);
        const exit = server.stop("SIGTERM");
        expect((await Promise.all(running)).map((response) => [response?.status, response?.text()]))
          .toEqual([[200, "slow"], [200, "slow"]]);
        for (const response of await Promise.all(waiting)) {
          expect(response?.status).toBe(503);
          expect(Number(response?.header("retry-after"))).toBeGreaterThanOrEqual(1);
        }
        expect((await exit).code).toBe(0);
        expect(site.runs("waiter")).toBe(0);
        expect(children.length).toBe(2);
        expect(children.filter(alive)).toEqual([]);
      },
    );

    scenario(
      "SIGTERM: an idle keep-alive connection does not hold the end up",
      { php: { concurrency: 1 } },
      async (server) => {
        const client = await RawClient.connect(server.port);
        await client.send("GET /fast.php HTTP/1.1\r\nHost: a\r\n\r\n");
        expect((await client.read())?.status).toBe(200);
        const exit = await within(5000, "The end", server.stop("SIGTERM"));
        expect(exit.code).toBe(0);
        expect(await client.closes()).toBe(true);
      },
    );

    scenario("a second SIGTERM ends it at once", { php: { concurrency: 1 } }, async (server, site) => {
      const cut = request(server, "slow.php?s=25").catch(() => undefined);
      await waitFor(() => site.runs("slow") === 1, { what: "the slow script to run" });
      const children = fpmChildren(server.pid);
      server.signal("SIGTERM");
      await waitFor(() => refuses(server.port), { what: "the listener to be closed", timeout: 3000 });
      expect(alive(server.pid)).toBe(true);
      await within(3000, "The end after a second SIGTERM", server.stop("SIGTERM"));
      await waitFor(() => !children.some(alive), { what: "PHP's end", timeout: 1000 });
      // Cut off, or told so; never a whole answer of a script that did not end.
      expect((await cut)?.text() ?? "").not.toContain("slow");
    });

    test.concurrent("a port that is taken: exit 1, naming the address and who has it", async () => {
      const [port, adminPort] = await freePorts(2);
      const holder = createServer().listen(port, "127.0.0.1");
      try {
        const exit = await runToExit({
          host,
          config: {
            server: { listen: [`127.0.0.1:${port}`], public: "./public" },
            admin: { listen: `127.0.0.1:${adminPort}` },
          },
        });
        expect(exit.code).toBe(1);
        expect(exit.output).toContain(`127.0.0.1:${port}`);
        expect(exit.output).toContain(String(process.pid));
      } finally {
        holder.close();
      }
    });

    test.concurrent("a setting that does not exist: exit 2, naming it and the nearest", async () => {
      const exit = await runToExit({ host, config: { admission: { max_queu: 5 } } });
      expect(exit.code).toBe(2);
      expect(exit.output).toContain("max_queu");
      expect(exit.output).toContain("max_queue");
      expect(exit.output).toContain("fairlead.toml");
    });
  });
}
