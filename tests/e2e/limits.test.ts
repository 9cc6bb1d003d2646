/**
 * What every request is held to and told by, on every host: limits, ids, what the public side does not show, and what
 * the admin side says when PHP is gone.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { startFpm } from "../php/fastcgi/fpm.ts";
import { freePorts } from "../support/ports.ts";
import { ask, RawClient } from "../support/raw_http.ts";
import { hosts, runToExit, startServer, type TestServer, total } from "../support/server.ts";
import { allowSlowTests, waitFor } from "../support/wait.ts";

allowSlowTests(60_000);

const get = (target: string, ...headers: string[]) =>
  `GET ${target} HTTP/1.1\r\nHost: a\r\n${headers.map((line) => `${line}\r\n`).join("")}\r\n`;

for (const host of hosts().filter((name) => name === "bun" || name === "deno" || name === "binary")) {
  describe(`limits of ${host}`, () => {
    let server: TestServer;

    beforeAll(async () => {
      server = await startServer({
        host,
        config: {
          server: { body_timeout: "500ms", max_header: "128KB", trusted_proxies: ["127.0.0.1"] },
          php: { concurrency: 1, front_controller: false },
          log: { format: "json" },
        },
      });
      writeFileSync(
        join(server.dir, "public/vars.php"),
        "<?php header('Content-Type: application/json'); echo json_encode($_SERVER);",
      );
      // PHP runs as another user where root runs the tests.
      mkdirSync(join(server.dir, "public/notes"));
      chmodSync(join(server.dir, "public/notes"), 0o777);
      writeFileSync(join(server.dir, "public/note.php"), "<?php touch(__DIR__ . '/notes/ran');");
    });
    afterAll(async () => await server?.[Symbol.asyncDispose]());

    test("the public side shows no numbers, no health and no identity", async () => {
      for (const path of ["/metrics", "/livez", "/readyz", "/-/whoami"]) {
        expect([path, (await fetch(server.url + path)).status]).toEqual([path, 404]);
        expect([path, (await fetch(server.adminUrl + path)).status]).toEqual([path, 200]);
      }
    });

    test("a body that stalls is 408 and closes; nothing runs, and no process was held", async () => {
      const client = await RawClient.connect(server.port);
      await client.send("POST /note.php HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nab");
      expect((await fetch(`${server.url}/vars.php`)).status).toBe(200);
      const response = await client.read();
      expect([response?.status, await client.closes()]).toEqual([408, true]);
      expect(existsSync(join(server.dir, "public/notes/ran"))).toBe(false);
      expect((await fetch(`${server.url}/note.php`)).status).toBe(200);
      expect(existsSync(join(server.dir, "public/notes/ran"))).toBe(true);
      const metrics = await server.metrics();
      expect(metrics.get('fairlead_http_requests_total{method="POST",status="408",handler="core"}')).toBe(1);
      expect(total(metrics, "fairlead_admission_in_use")).toBe(0);
    });

    test("a head over max_header is 431; one that fits there but not into FastCGI is 431 and counted", async () => {
      expect((await ask(server.port, get("/vars.php", `X-Big: ${"b".repeat(140_000)}`)))?.status).toBe(431);
      expect((await ask(server.port, get("/vars.php", `X-Big: ${"b".repeat(90_000)}`)))?.status).toBe(431);
      expect((await fetch(`${server.url}/vars.php`)).status).toBe(200);
      const metrics = await server.metrics();
      expect(metrics.get('fairlead_http_requests_total{method="GET",status="431",handler="php"}')).toBe(1);
      expect(total(metrics, "fairlead_admission_in_use")).toBe(0);
    });

    test("a request's id is the client's if it is usable, else new, and PHP, log and client see the same", async () => {
      const id = async (...headers: string[]) =>
        (await ask(server.port, get("/vars.php", "Connection: close", ...headers)))?.header("x-request-id");
      expect(await id("X-Request-Id: trace/1:a")).toBe("trace/1:a");
      const made = [
        await id(),
        await id(),
        await id('X-Request-Id: a"b'),
        await id(`X-Request-Id: ${"i".repeat(129)}`),
      ];
      expect(new Set(made).size).toBe(4);
      for (const one of made) expect(one).toMatch(/^[0-9a-f]{12}-[0-9a-z]+$/);
      await waitFor(() => ["trace/1:a", ...made].every((one) => server.output().includes(`"id":"${one}"`)), {
        what: "an access line of each",
      });
    });

    test("a trusted proxy is believed in what it sets, and not in what it may have passed on", async () => {
      const told = async (...headers: string[]) => {
        const seen = JSON.parse((await ask(server.port, get("/vars.php", "Connection: close", ...headers)))!.text());
        return [seen.REMOTE_ADDR, seen.REQUEST_SCHEME, seen.HTTP_HOST];
      };
      const evil = "X-Forwarded-Host: evil.example";
      expect(await told("X-Forwarded-For: 6.6.6.6, 203.0.113.9", "X-Forwarded-Proto: https", evil))
        .toEqual(["203.0.113.9", "https", "a"]);
      expect(await told('Forwarded: for=6.6.6.6, for="[2001:db8::7]:80";proto=https;host=shop.example'))
        .toEqual(["2001:db8::7", "https", "shop.example"]);
      expect(await told("X-Forwarded-For: 203.0.113.9", "Forwarded: for=6.6.6.6;proto=https;host=evil.example"))
        .toEqual(["203.0.113.9", "http", "a"]);
    });
  });

  test(`PHP on ${host} sees the server's environment if told so, and never the server's own settings`, async () => {
    const env = { FAIRLEAD_PHP__CONCURRENCY: "1", MY_WORD: "from outside" };
    const seen = async (clear_env: boolean) => {
      const php = { clear_env, env: { OWN_WORD: "from the file" } };
      await using server = await startServer({ host, env, config: { php, log: { access: "off" } } });
      writeFileSync(
        join(server.dir, "public/index.php"),
        "<?php echo json_encode([getenv('MY_WORD'), getenv('OWN_WORD'), $_SERVER['OWN_WORD'] ?? null," +
          " preg_grep('/^FAIRLEAD_/', array_keys($_SERVER + getenv()))]);",
      );
      return await (await fetch(server.url)).json();
    };
    expect(await seen(false)).toEqual(["from outside", "from the file", "from the file", []]);
    expect(await seen(true)).toEqual([false, "from the file", "from the file", []]);
  });

  test(`/readyz of ${host} says why PHP cannot run, while /livez and files go on`, async () => {
    const fpm = await startFpm(1);
    let running = true;
    try {
      await using server = await startServer({
        host,
        config: { php: { fastcgi: `unix:${join(fpm.dir, "fpm.sock")}`, concurrency: 1 }, log: { access: "off" } },
      });
      writeFileSync(join(server.dir, "public/file.txt"), "still here");
      const look = async () => {
        const response = await fetch(`${server.adminUrl}/readyz`);
        return {
          status: response.status,
          ...await response.json() as { ready: boolean; parts: Record<string, string> },
        };
      };
      expect(await look()).toEqual({ status: 200, ready: true, parts: { server: "ready", php: "ready" } });
      await fpm.stop();
      running = false;
      const down = await waitFor(async () => {
        const seen = await look();
        // Until the first attempt to connect has failed it says that PHP is starting.
        return seen.status === 503 && seen.parts["php"] !== "PHP is starting" ? seen : undefined;
      }, { what: "/readyz to turn" });
      expect([down.ready, down.parts["server"]]).toEqual([false, "ready"]);
      expect(down.parts["php"]).toMatch(/^Cannot connect to php-fpm at .*fpm\.sock: /);
      expect((await fetch(`${server.adminUrl}/livez`)).status).toBe(200);
      expect(await (await fetch(`${server.url}/file.txt`)).text()).toBe("still here");
      expect((await server.metrics()).get(`fairlead_php_alive{pool="php"}`)).toBe(0);
    } finally {
      if (running) await fpm.stop();
    }
  });

  test(`an admin port that is taken ends ${host} with 1, naming the address and who has it`, async () => {
    const [port, adminPort] = await freePorts(2);
    const holder = createServer().listen(adminPort, "127.0.0.1");
    try {
      const exit = await runToExit({
        host,
        config: {
          server: { listen: [`127.0.0.1:${port}`] },
          admin: { listen: `127.0.0.1:${adminPort}` },
        },
      });
      expect(exit.code).toBe(1);
      expect(exit.output).toContain(`127.0.0.1:${adminPort}`);
      expect(exit.output).toContain(`pid ${process.pid}`);
    } finally {
      holder.close();
    }
  });
}
