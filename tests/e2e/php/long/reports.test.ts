/**
 * What users of PHP application servers have reported, each as a test. The numbers are those of our notes on them; some have their
 * test elsewhere: 5, 7, 22, 26, 29 and 31 in `supervision.test.ts`, 17 and 18 in `state.test.ts` too, and those about requests and
 * answers in `reports_requests.test.ts`.
 *
 * @module
 */
import { describe, expect } from "bun:test";
import { get, load, quantile, statuses } from "../../../support/php_apps/load.ts";
import { doors, reportsOn } from "../../../support/php_apps/reports.ts";
import { counter, page, rows, type Site, whole, zombies } from "../../../support/php_apps/site.ts";
import { alive } from "../../../support/proc.ts";
import { RawClient } from "../../../support/raw_http.ts";
import { hosts, type TestServer } from "../../../support/server.ts";
import { allowSlowTests, pause, waitFor } from "../../../support/wait.ts";

allowSlowTests(60_000);

const pids = (site: Site, name: string) => site.read(`storage/${name}`).trim().split("\n").filter(Boolean).map(Number);
const workerPids = async (server: TestServer) => (await rows(server)).map(({ pid }) => pid).sort((a, b) => a - b);

for (const host of hosts()) {
  const scenario = reportsOn(host);

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
}
