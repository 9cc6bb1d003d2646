/**
 * What goes wrong in production, on purpose: killed workers, timeouts, overload, beginnings and ends.
 *
 * @module
 */
import { describe, expect, test } from "bun:test";
import { createServer } from "node:net";
import process from "node:process";
import { idle, queued, refuses, request, scenes } from "../support/chaos.ts";
import { freePorts } from "../support/ports.ts";
import { alive, fpmChildren } from "../support/proc.ts";
import { RawClient } from "../support/raw_http.ts";
import { seeded } from "../support/seeded.ts";
import { hosts, runToExit } from "../support/server.ts";
import { allowSlowTests, pause, waitFor, within } from "../support/wait.ts";

// Waiting for its turn is part of a test's time.
allowSlowTests(600_000);

for (const host of hosts()) {
  const { alone, scenario } = scenes(host);

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
      const chance = seeded(1);
      const end = performance.now() + 6000;
      while (performance.now() < end) {
        // Five kills a second, for there to be work between them.
        await pause(200);
        const children = fpmChildren(server.pid);
        const victim = children[Math.floor(chance() * children.length)];
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
