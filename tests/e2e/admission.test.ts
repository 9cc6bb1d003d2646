/**
 * Who is let in, and when: rules, keys, sessions, deadlines and the application's calls to itself, on every host.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../support/ports.ts";
import { hosts, startServer, type TestServer, total } from "../support/server.ts";
import { allowSlowTests, waitFor } from "../support/wait.ts";

allowSlowTests(60_000);

const pages: Readonly<Record<string, string>> = {
  "deadline.php": "<?php echo $_SERVER['REQUEST_DEADLINE'] - microtime(true);",
  // Runs until it is told to go on.
  "hold.php":
    "<?php touch(__DIR__ . '/../marks/began-' . $_GET['n']); while (!file_exists(__DIR__ . '/../marks/go-' . $_GET['n'])) " +
    "{ usleep(5000); clearstatcache(); } echo 'held';",
  "health.php": "<?php echo 'healthy';",
  "plain.php": "<?php echo 'plain';",
  "outer.php": `<?php
$context = stream_context_create(['http' => ['timeout' => 20, 'header' =>
  'X-Fairlead-Self: ' . getenv('FAIRLEAD_SELF') . "\\r\\nCookie: S=" . $_COOKIE['S'] . "\\r\\nConnection: close"]]);
echo 'outer ', file_get_contents("http://127.0.0.1:{$_SERVER['SERVER_PORT']}/plain.php", false, $context);`,
};

const worker = `<?php
while (frankenphp_handle_request(function (): void { echo $_SERVER['REQUEST_DEADLINE'] - microtime(true); })) {}
`;

for (const host of hosts().filter((name) => name !== "nginx" && name !== "careless")) {
  describe(`admission on ${host}`, () => {
    let dir: string, server: TestServer;

    beforeAll(async () => {
      dir = mkdtempSync(join(tmpdir(), "fairlead-admission-"));
      mkdirSync(join(dir, "public"));
      // Scripts run as another user.
      mkdirSync(join(dir, "marks"));
      chmodSync(join(dir, "marks"), 0o777);
      for (const [name, text] of Object.entries(pages)) writeFileSync(join(dir, "public", name), text);
      writeFileSync(join(dir, "worker.php"), worker);
      server = await startServer({
        host,
        dir,
        config: {
          server: { listen: [`127.0.0.1:${await freePort()}`], timeout: "30s", trusted_proxies: ["127.0.0.1"] },
          log: { access: "off" },
          admission: {
            key: "header:X-Tenant",
            key_limit: 1,
            serialize: "cookie:S",
            reserve: 1,
            rules: [{ path: "/health.php", exempt: true }, { path: "/low/**", class: "sheddable" }],
          },
          php: {
            concurrency: 3,
            front_controller: false,
            pools: { worker: { match: { path: ["/worker"] }, script: "worker.php", concurrency: 1 } },
          },
        },
      });
    });

    afterAll(async () => {
      await server?.[Symbol.asyncDispose]();
      rmSync(dir, { recursive: true, force: true });
    });

    const get = (path: string, headers: Record<string, string> = {}) => fetch(server.url + path, { headers });
    const text = async (path: string, headers?: Record<string, string>) => await (await get(path, headers)).text();
    const metric = async (name: string) => total(await server.metrics(), `fairlead_admission_${name}`);
    let held = 0;
    /** A request that has begun, and what lets it end. */
    const hold = async (headers: Record<string, string> = {}) => {
      const n = ++held;
      const response = get(`/hold.php?n=${n}`, headers);
      await waitFor(() => existsSync(join(dir, `marks/began-${n}`)), { what: "the script to begin" });
      return { response, go: () => writeFileSync(join(dir, `marks/go-${n}`), "") };
    };
    const idle = () => waitFor(async () => await metric("in_use") === 0, { what: "every permit to come back" });

    test("scripts are told when their request must have ended, by php-fpm and by workers", async () => {
      for (const path of ["/deadline.php", "/worker"]) {
        const left = Number(await text(path));
        expect([path, left > 25 && left <= 30.01]).toEqual([path, true]);
        const shorter = Number(await text(path, { "x-request-deadline": "20s" }));
        expect([path, shorter > 15 && shorter <= 20.01]).toEqual([path, true]);
        const moment = (Date.now() / 1000 + 10).toFixed(3);
        const named = Number(await text(path, { "x-request-deadline": moment, "grpc-timeout": "15S" }));
        expect([path, named > 5 && named <= 10.01]).toEqual([path, true]);
        expect(Number(await text(path, { "x-request-deadline": "100h" }))).toBeGreaterThan(25);
      }
    });

    test("a deadline that has passed is 504 at once, and one that passes ends what runs", async () => {
      expect((await get("/deadline.php", { "x-request-deadline": "2001-09-09T01:46:40Z" })).status).toBe(504);
      expect((await get("/hold.php?n=never", { "x-envoy-expected-rq-timeout-ms": "300" })).status).toBe(504);
      await idle();
    });

    test("a session has one request at a time, and the others hold no permit", async () => {
      const first = await hold({ cookie: "S=one" });
      const second = get("/plain.php", { cookie: "S=one" });
      await waitFor(async () => await metric("sessions_queued") === 1, { what: "the second to wait" });
      expect([await metric("in_use"), await text("/plain.php", { cookie: "S=two" })]).toEqual([1, "plain"]);
      first.go();
      expect(await (await first.response).text()).toBe("held");
      const response = await second;
      expect([await response.text(), response.headers.get("server-timing")?.startsWith("adm;dur=")]).toEqual([
        "plain",
        true,
      ]);
      await idle();
    });

    test("an application that calls itself from every permit goes on", async () => {
      const answers = Array.from({ length: 6 }, (_, i) => text("/outer.php", { cookie: `S=self${i}` }));
      expect(await Promise.all(answers)).toEqual(answers.map(() => "outer plain"));
      await idle();
    });

    test("a key above its cap is 429; exempt requests pass a full gate, others wait", async () => {
      const one = await hold({ "x-tenant": "a" });
      const refused = await get("/plain.php", { "x-tenant": "a" });
      expect([refused.status, Number(refused.headers.get("retry-after")) >= 1]).toEqual([429, true]);
      const two = await hold({ "x-tenant": "b" });
      const waits = get("/low/../plain.php", { "x-tenant": "c" });
      await waitFor(async () => await metric("queued") === 1, { what: "one to wait" });
      expect(await text("/health.php")).toBe("healthy");
      expect(await metric("queued")).toBe(1);
      one.go();
      two.go();
      expect([(await one.response).status, (await two.response).status, (await waits).status]).toEqual([200, 200, 200]);
      await idle();
      const metrics = await server.metrics();
      expect(metrics.get('fairlead_admission_total{lane="php",class="critical",outcome="key_cap"}')).toBe(1);
      expect(metrics.get('fairlead_admission_total{lane="php",class="critical",outcome="exempt"}')).toBe(1);
    });
  });
}
