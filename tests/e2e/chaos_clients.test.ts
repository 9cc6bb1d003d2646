/**
 * What goes wrong in production, on purpose: clients that leave or dawdle, and streams.
 *
 * @module
 */
import { describe, expect } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { get, idle, namelessFiles, queued, request, scenes } from "../support/chaos.ts";
import { openFiles } from "../support/php_apps/open_files.ts";
import { residentBytes } from "../support/proc.ts";
import { ask, RawClient } from "../support/raw_http.ts";
import { hosts, total } from "../support/server.ts";
import { readSlowly } from "../support/slow_reader.ts";
import { allowSlowTests, pause, waitFor, within } from "../support/wait.ts";

// Waiting for its turn is part of a test's time.
allowSlowTests(600_000);

for (const host of hosts()) {
  const { alone, scenario } = scenes(host);

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
      const { received, growth } = await readSlowly(server, get("download.php"), 15);
      expect(received).toBeGreaterThan(size);
      expect(growth).toBeLessThan(flat);
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
}
