import { afterAll, describe, expect, test } from "bun:test";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect as tlsConnect } from "node:tls";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { commandOf, hosts, startServer } from "../support/server.ts";
import { connect } from "../../plugins/php/fastcgi/socket.ts";
import { startFpm } from "../php/fastcgi/fpm.ts";
import { freePort } from "../support/ports.ts";
import { allowSlowTests, waitFor } from "../support/wait.ts";

allowSlowTests(60_000);

const root = fileURLToPath(new URL("../../", import.meta.url));
const dir = mkdtempSync(join(tmpdir(), "fairlead-cli-"));
afterAll(() => rmSync(dir, { recursive: true }));

/** Our own environment, less what would be read as settings. */
const clean = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("FAIRLEAD_")));

function write(name: string, text: string): string {
  const path = join(dir, name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
  return path;
}

for (const host of hosts().filter((name) => name in { bun: 1, deno: 1, binary: 1 })) {
  const run = (args: readonly string[], env: Record<string, string> = {}) => {
    const [program, ...first] = commandOf(host);
    const made = spawnSync(program!, [...first, ...args], {
      cwd: dir,
      env: { ...clean, ...env },
      encoding: "utf8",
    });
    return { code: made.status, out: made.stdout, err: made.stderr };
  };

  describe(`the command line on ${host}`, () => {
    test("check prints every value in effect and where it comes from, without secrets", () => {
      const secret = write("limit", "64M\n");
      const file = write("check.toml", '[server]\nlisten = ["127.0.0.1:0"]\n[php]\nini = { memory_limit = "1M" }\n');
      const { code, out, err } = run(["check", "-c", file], {
        FAIRLEAD_PHP__CONCURRENCY: "3",
        FAIRLEAD_PHP__INI__MEMORY_LIMIT_FILE: secret,
      });
      expect([code, err]).toEqual([0, ""]);
      expect(out).toMatch(/concurrency = 3 +# env FAIRLEAD_PHP__CONCURRENCY/);
      expect(out).toMatch(/listen = \[ "127.0.0.1:0" \] +# .*check.toml:2/);
      expect(out).toMatch(/grace = "10s" +# default/);
      expect(out).not.toContain("64M");
      expect(out).toMatch(/memory_limit = "\*\*\*" +# file /);
    });

    test("check names file, line, key and the nearest key for each mistake, and exits 2", () => {
      const file = write("bad.toml", '[server]\nlisten = ["nowhere"]\n[admission]\nmax_que = 1\ngrace = "soon"\n');
      const { code, err } = run(["check", "-c", file]);
      expect(code).toBe(2);
      expect(err).toMatch(/bad.toml:2: server.listen\[0\]: expected HOST:PORT/);
      expect(err).toMatch(/bad.toml:4: admission.max_que: unknown key; did you mean "max_queue"\?/);
      expect(err).toMatch(/bad.toml:5: admission.grace: expected a duration such as "250ms"/);
      expect(run(["serve", "-c", file]).code).toBe(2);
    });

    test("a missing file, an unknown command and a bad option exit 2 with a sentence", () => {
      const missing = run(["serve", "-c", join(dir, "none.toml")]);
      expect([missing.code, missing.err.includes("none.toml")]).toEqual([2, true]);
      const unknown = run(["sevre"]);
      expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining('unknown command "sevre"')]);
      expect(run(["check", "--nope"]).code).toBe(2);
      expect(run(["--help"]).out).toContain("fairlead serve");
    });

    test("schema is a JSON Schema that knows the built-in tables and the file's plugins", () => {
      const { code, out } = run(["schema", "-c", join(root, "examples/plugin/fairlead.toml")]);
      const schema = JSON.parse(out);
      expect(code).toBe(0);
      expect(Object.keys(schema.properties)).toEqual(
        expect.arrayContaining(["server", "admin", "log", "php", "admission", "static", "metrics", "plugins"]),
      );
      expect(schema.properties.plugins.properties.maintenance.properties.flag.type).toBe("string");
    });

    test("php-fpm that is not there is named, with what to install", () => {
      const file = write(
        "nophp/fairlead.toml",
        '[server]\npublic = "."\nlisten = ["127.0.0.1:0"]\n[admin]\nlisten = ""\n[php]\nbinary = "/nowhere/php-fpm"\n',
      );
      const { code, err } = run(["serve", "-c", file]);
      expect([code, err]).toEqual([1, expect.stringContaining("/nowhere/php-fpm")]);
    });
  });

  describe(`a third-party plugin on ${host}`, () => {
    test("the example loads, is configured, answers, and lets go", async () => {
      const flag = join(dir, `maintenance-${host}.on`);
      await using server = await startServer({
        host,
        config: {
          plugins: { maintenance: { use: join(root, "examples/plugin/maintenance.ts"), flag } },
          log: { access: "off" },
          php: { concurrency: 1 },
        },
      });
      writeFileSync(join(server.dir, "public/index.php"), "<?php echo 'open';");
      const get = async (path: string) => await fetch(server.url + path);
      expect(await (await get("/")).text()).toBe("open");
      writeFileSync(flag, "");
      const closed = await get("/");
      expect([closed.status, closed.headers.get("retry-after"), await closed.text()]).toEqual([
        503,
        "60",
        "<h1>Back soon</h1>\n",
      ]);
      rmSync(flag);
      expect(await (await get("/-/maintenance")).json()).toEqual({ on: false });
      const metrics = await server.metrics();
      expect(metrics.get('fairlead_http_requests_total{method="GET",status="503",handler="maintenance"}')).toBe(1);
    });

    test("a plugin that cannot be loaded, or is none, or is configured wrongly, is named", () => {
      const at = (name: string, use: string, more = "") =>
        run(["check", "-c", write(`${name}/fairlead.toml`, `[plugins.geo]\nuse = "${use}"\n${more}`)]);
      const missing = at("missing", "./geo.ts");
      expect([missing.code, missing.err]).toEqual([2, expect.stringContaining('plugins.geo from "./geo.ts"')]);
      write("none/geo.ts", "export default 1;");
      expect(at("none", "./geo.ts").err).toContain("is not a plugin");
      const wrong = at("wrong", join(root, "examples/plugin/maintenance.ts"), 'flag = "x"\nalow = []\n');
      expect(wrong.err).toMatch(/plugins.geo.alow: unknown key; did you mean "allow"\?/);
    });
  });

  describe(`where ${host} listens`, () => {
    test("several addresses and a unix socket at once, each with its mode, PHP told which", async () => {
      const socket = join(dir, `${host}.sock`);
      await using server = await startServer({
        host,
        config: {
          server: { listen: ["127.0.0.1:0", `unix:${socket}`] },
          log: { access: "off" },
          php: { concurrency: 1 },
        },
      });
      writeFileSync(
        join(server.dir, "public/index.php"),
        "<?php echo $_SERVER['SERVER_ADDR'], ' ', $_SERVER['REMOTE_ADDR'];",
      );
      expect(statSync(socket).mode & 0o777).toBe(0o660);
      const text = await new Promise<string>((resolve, reject) => {
        request({ socketPath: socket, path: "/", headers: { host: "x" } }, (response) => {
          let body = "";
          response.on("data", (chunk) => body += chunk).on("end", () => resolve(body));
        }).on("error", reject).end();
      });
      expect(text).toBe("unix: unix:");
      await server.stop();
      expect(statSync(socket, { throwIfNoEntry: false })).toBe(undefined);
    });

    test("TLS with certificate and key files: PHP sees HTTPS", async () => {
      const [cert, key] = [join(dir, "cert.pem"), join(dir, "key.pem")];
      execFileSync("openssl", [
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
        "-keyout",
        key,
        "-out",
        cert,
      ], { stdio: "ignore" });
      const plain = await freePort();
      await using server = await startServer({
        host,
        config: {
          server: { tls: { cert, key }, listen_plain: [`127.0.0.1:${plain}`] },
          log: { access: "off" },
          php: { concurrency: 1 },
          site: { redirects: [{ from: "/**", scheme: "http", to: `https://$host$path` }] },
        },
      });
      expect(server.output()).toContain(`on https://127.0.0.1:${server.port}, http://127.0.0.1:${plain}`);
      const away = await fetch(`http://127.0.0.1:${plain}/a?b=c`, { redirect: "manual" });
      expect([away.status, away.headers.get("location")]).toEqual([302, "https://127.0.0.1/a?b=c"]);
      writeFileSync(
        join(server.dir, "public/index.php"),
        "<?php echo $_SERVER['HTTPS'], ' ', $_SERVER['REQUEST_SCHEME'], ' ', $_SERVER['SERVER_PORT'];",
      );
      const text = await new Promise<string>((resolve, reject) => {
        const socket = tlsConnect({
          port: server.port,
          host: "127.0.0.1",
          ca: readFileSync(cert),
          servername: "localhost",
        });
        let seen = "";
        socket.on("data", (chunk) => seen += chunk).on("close", () => resolve(seen)).on("error", reject);
        socket.write("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
      });
      expect(text).toContain(`on https ${server.port}`);
    });

    test.skipIf(host === "deno")(
      "starts over to keep its memory: same pid, same arguments, unseen by PHP",
      async () => {
        const started = (pid: number) => readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
        // The engine with the whole environment.
        const php = { env: { MINE: "1" } };
        await using server = await startServer({ host, config: { php }, env: { MIMALLOC_PURGE_DELAY: undefined } });
        expect(await (await fetch(`${server.adminUrl}/-/whoami`)).json()).toMatchObject({ pid: server.pid });
        expect(started(server.pid)).toContain("MIMALLOC_PURGE_DELAY=-1");
        writeFileSync(
          join(server.dir, "public/index.php"),
          "<?= json_encode([getenv('MINE'), getenv('MIMALLOC_PURGE_DELAY')]);",
        );
        expect(await (await fetch(server.url)).json()).toEqual(["1", false]);
        expect(server.output()).not.toContain("xperimental");
        expect((await server.stop()).code).toBe(0);

        await using chosen = await startServer({ host, env: { MIMALLOC_PURGE_DELAY: "100" } });
        expect(started(chosen.pid)).toContain("MIMALLOC_PURGE_DELAY=100");
      },
    );

    test.skipIf(host !== "bun")("starts over in the folder that Bun was sent to", () => {
      write("there/bad.toml", "[server]\nlistens = 1\n");
      const command = commandOf(host);
      for (const options of [["--cwd=there"], ["--smol", "--cwd", "there"], []]) {
        const env = options.length > 0 ? clean : { ...clean, BUN_OPTIONS: "--cwd there" };
        const args = [...options, command.at(-1)!, "serve", "-c", "bad.toml"];
        const { status, stderr } = spawnSync(command[0]!, args, { cwd: dir, env, encoding: "utf8" });
        expect([status, stderr]).toEqual([2, expect.stringContaining("bad.toml:2: server.listens")]);
      }
    });

    test("a php-fpm that somebody else runs is used, and is left running", async () => {
      const fpm = await startFpm(2);
      try {
        const config = {
          php: { fastcgi: `unix:${join(fpm.dir, "fpm.sock")}`, concurrency: 2 },
          log: { access: "off" },
        };
        await using server = await startServer({ host, config });
        writeFileSync(join(server.dir, "public/index.php"), "<?php echo 'foreign ', getmypid() > 1 ? 'pid' : '';");
        for (let i = 0; i < 5; i++) expect(await (await fetch(server.url)).text()).toBe("foreign pid");
        expect((await server.metrics()).get(`fairlead_php_alive{pool="php"}`)).toBe(2);
        expect((await server.stop()).code).toBe(0);
        const probe = await connect(fpm.address);
        probe.destroy();
      } finally {
        await fpm.stop();
      }
    });
  });

  test(`the access log of ${host} tells who asked for what, and PHP's own log carries the request's id`, async () => {
    await using server = await startServer({ host, config: { log: { format: "json" }, php: { concurrency: 1 } } });
    writeFileSync(join(server.dir, "public/index.php"), "<?php error_log('a word from PHP'); echo 'hello';");
    const response = await fetch(`${server.url}/x?y=1`, {
      headers: { "x-request-id": "my-id-1", "user-agent": 'ev"il\\' },
    });
    expect([await response.text(), response.headers.get("x-request-id")]).toEqual(["hello", "my-id-1"]);
    const lines = () =>
      server.output().split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
    await waitFor(() => Promise.resolve(lines().some((l) => l.target === "/x?y=1" && l.status === 200)), {
      what: "an access line",
    });
    const access = lines().find((l) => l.status === 200);
    expect([access.id, access.method, access.handler, access.bytes, access.agent, access.client]).toEqual(
      ["my-id-1", "GET", "php", 5, 'ev"il\\', "127.0.0.1"],
    );
    await waitFor(() => Promise.resolve(lines().some((l) => /a word from PHP/.test(l.message ?? ""))), {
      what: "PHP's line",
    });
    expect(lines().filter((l) => /a word from PHP/.test(l.message ?? "")).map((l) => l.id)).toEqual(["my-id-1"]);
  });
}
