/**
 * What both engines owe a site: a reload that takes new code, time limits of a pool, early hints.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { alive, commandOf as commandOfProcess, descendantsOf, policyOf } from "../../support/proc.ts";
import {
  cleanEnvironment,
  commandOf,
  hosts,
  runToExit,
  startServer,
  type TestServer,
  total,
} from "../../support/server.ts";
import { allowSlowTests, waitFor } from "../../support/wait.ts";
import { connect } from "node:net";

allowSlowTests(60_000);

const page = (version: number) => `<?php usleep((int) ($_GET['us'] ?? 0)); echo ${version};`;
const worker = `<?php
while (frankenphp_handle_request(function (): void {
    if ($_SERVER['REQUEST_URI'] === '/worker/hints') {
        header('Link: </style.css>; rel=preload; as=style');
        headers_send(103);
        header('X-Late: yes');
    }
    if (isset($_GET['us'])) usleep((int) $_GET['us']);
    echo 'worker';
})) {}
`;

/** A process as the admin listener shows it. */
interface Row {
  readonly pid: number;
  readonly state: string;
  readonly requests: number;
  readonly uptime_s: number;
  readonly rss: number;
  readonly target?: string;
}

/** All that comes until the server closes. */
function raw(port: number, head: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(head));
    let seen = "";
    socket.setEncoding("latin1").on("data", (text: string) => seen += text);
    socket.on("error", reject).on("close", () => resolve(seen));
  });
}

for (const host of hosts()) {
  describe(`both engines on ${host}`, () => {
    let server: TestServer;
    const dir = mkdtempSync(join(tmpdir(), "fairlead-engines-"));
    const index = join(dir, "public/index.php");

    beforeAll(async () => {
      mkdirSync(join(dir, "public"));
      writeFileSync(index, page(1));
      writeFileSync(join(dir, "worker.php"), worker);
      server = await startServer({
        host,
        dir,
        config: {
          log: { access: "off" },
          php: {
            concurrency: 2,
            scheduling: "batch",
            // As in production: what OPcache has once read it does not look at again.
            ini: { "opcache.validate_timestamps": false, "opcache.file_update_protection": 0 },
            pools: {
              w: {
                match: { path: ["/worker/**"] },
                script: "worker.php",
                concurrency: 1,
                timeout: "700ms",
              },
            },
          },
        },
      });
    });
    afterAll(async () => {
      await server?.[Symbol.asyncDispose]();
      rmSync(dir, { recursive: true, force: true });
    });

    const masters = () => descendantsOf(server.pid).filter(({ pid }) => /^php-fpm: master/.test(commandOfProcess(pid)));

    test("php-fpm is reloaded by another one that takes over, losing no request", async () => {
      const ask = async (query = "") => (await fetch(`${server.url}/index.php${query}`)).text();
      expect(await ask()).toBe("1");
      writeFileSync(index, page(2));
      expect(await ask()).toBe("1");
      const before = masters().map(({ pid }) => pid);

      const long = ask("?us=800000");
      await waitFor(async () => total(await server.metrics(), "fairlead_php_busy") === 1, { what: "a busy process" });
      let on = true;
      const answers: string[] = [];
      const visits = (async () => {
        while (on) answers.push(await ask());
      })();
      const reply = await fetch(`${server.adminUrl}/-/reload`, { method: "POST" });
      expect(await reply.json()).toEqual({ reloaded: { "php:w": "ok", php: "ok" } });
      expect(await ask()).toBe("2");
      on = false;
      await visits;
      expect(await long).toBe("1");
      expect([...new Set(answers)].filter((answer) => answer !== "1" && answer !== "2")).toEqual([]);
      await waitFor(() => before.every((pid) => !alive(pid)), { what: "the php-fpm before to end" });
      const metrics = await server.metrics();
      expect([total(metrics, "fairlead_php_busy"), total(metrics, "fairlead_admission_in_use")]).toEqual([0, 0]);
      expect(metrics.get('fairlead_php_processes{pool="php"}')).toBe(2);
    });

    test("every process is listed, of both engines, with what it runs", async () => {
      const listed = async () => {
        const { pools } = await (await fetch(`${server.adminUrl}/-/php`)).json() as { pools: { processes: Row[] }[] };
        return pools.flatMap(({ processes }) => processes);
      };
      await waitFor(async () => (await listed()).filter(({ state }) => state === "idle").length === 3, {
        what: "three idle processes",
      });
      const long = fetch(`${server.url}/index.php?us=600000`).then((response) => response.text());
      await waitFor(async () => (await listed()).some(({ state }) => state === "busy"), { what: "a busy process" });
      const rows = await listed();
      await long;
      expect(rows.length).toBe(3);
      expect(rows.filter(({ state }) => state === "busy").map(({ target }) => target)).toEqual([
        "/index.php?us=600000",
      ]);
      for (const row of rows) {
        expect(alive(row.pid)).toBe(true);
        expect(row.rss).toBeGreaterThan(1_000_000);
        expect(row.uptime_s).toBeGreaterThanOrEqual(0);
        expect(row.requests).toBeGreaterThanOrEqual(row.state === "busy" ? 1 : 0);
      }
    });

    test("PHP's processes push nobody aside (SCHED_BATCH) where that is set, those of named pools too", async () => {
      const { pools } = await (await fetch(`${server.adminUrl}/-/php`)).json() as {
        pools: { name: string; processes: Row[] }[];
      };
      const policyOfAll = (rows: readonly Row[]) => [...new Set(rows.map(({ pid }) => policyOf(pid)))];
      const policies = pools.map(({ name, processes }) => [name, policyOfAll(processes)]);
      expect(Object.fromEntries(policies)).toEqual({ php: [3], "php:w": [3] });
    });

    test("fairlead reload waits for the end, says why a pool goes on as it was, and exits by that", async () => {
      const script = join(dir, "worker.php");
      const reload = async () => {
        const [program, ...args] = commandOf(host);
        const run = spawn(program!, [...args, "reload", "-c", join(dir, "fairlead.toml")], { env: cleanEnvironment() });
        let output = "";
        for (const stream of [run.stdout, run.stderr]) stream.on("data", (text: unknown) => output += String(text));
        const code = await new Promise((resolve) => run.on("close", resolve));
        return [code, output] as const;
      };
      expect(await reload()).toEqual([0, "php:w: ok\nphp: ok\n"]);
      writeFileSync(script, "<?php fwrite(fopen('php://stderr', 'w'), \"no such table\\n\"); exit(7);");
      try {
        const [code, output] = await reload();
        expect([code, output]).toEqual([
          1,
          expect.stringMatching(/^php:w: .*exit code 7.*no such table.*\nphp: ok\n$/),
        ]);
        expect(await (await fetch(`${server.url}/worker/x`)).text()).toBe("worker");
      } finally {
        writeFileSync(script, worker);
      }
      expect(await reload()).toEqual([0, "php:w: ok\nphp: ok\n"]);
      expect(await (await fetch(`${server.adminUrl}/readyz`)).json()).toMatchObject({ ready: true });
    });

    test("no page of another site can have the server reload", async () => {
      for (const headers of [{ origin: "null" }, { origin: server.url }, { "sec-fetch-site": "cross-site" }]) {
        const reply = await fetch(`${server.adminUrl}/-/reload`, { method: "POST", headers });
        expect([reply.status, await reply.json()]).toEqual([403, expect.objectContaining({ code: "ADMIN_ORIGIN" })]);
      }
      expect((await fetch(`${server.adminUrl}/-/reload`)).status).toBe(404);
    });

    test("a pool may have less time than the others", async () => {
      const slow = "?us=1200000";
      const [ours, other] = await Promise.all([
        fetch(`${server.url}/worker/slow${slow}`),
        fetch(`${server.url}/index.php${slow}`),
      ]);
      expect([ours.status, other.status, await other.text()]).toEqual([504, 200, "2"]);
      await waitFor(async () => (await fetch(`${server.url}/worker/again`)).status === 200, { what: "a new worker" });
    });

    test("early hints of a worker go ahead of its answer, where the runtime can send them", async () => {
      const seen = await raw(server.port, "GET /worker/hints HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
      const early =
        /^HTTP\/1\.1 103 Early Hints\r\nlink: <\/style\.css>; rel=preload; as=style\r\n\r\nHTTP\/1\.1 200 /i;
      expect(early.test(seen)).toBe(host === "deno");
      expect(seen).toMatch(/HTTP\/1\.1 200 [^]*x-late: yes[^]*worker/i);
    });
  });

  test(`a pool with more time than the server is an error on ${host}`, async () => {
    const exit = await runToExit({ host, config: { server: { timeout: "1s" }, php: { timeout: "2s" } } });
    expect([exit.code, exit.output]).toEqual([
      2,
      expect.stringMatching(/php: expected a timeout of at most server\.timeout/),
    ]);
  });
}
