/**
 * Workers behind a real server: what a site sees of them, and that nothing is lost when they end, hang or are replaced.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import pLimit from "p-limit";
import { parse } from "smol-toml";
import { alive } from "../../support/proc.ts";
import { type Config, hosts, runToExit, startServer, type TestServer, total } from "../../support/server.ts";
import { allowSlowTests, waitFor, within } from "../../support/wait.ts";

// Waiting for its turn is part of a test's time.
allowSlowTests(300_000);

const fixture = (name: string) => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));

interface Row {
  readonly pid: number;
  readonly state: string;
  readonly requests: number;
}

interface Pool {
  readonly name: string;
  readonly problem: string | null;
  readonly processes: readonly Row[];
}

async function pools(server: TestServer): Promise<readonly Pool[]> {
  return ((await (await fetch(`${server.adminUrl}/-/php`)).json()) as { readonly pools: readonly Pool[] }).pools;
}

const pids = async (server: TestServer) =>
  (await pools(server)).flatMap((pool) => pool.processes.map(({ pid }) => pid));
const text = async (server: TestServer, path: string, init?: RequestInit) =>
  (await fetch(server.url + path, { ...init, redirect: "manual" })).text();

/** A site with the fixtures' worker scripts in it. */
function site(): string {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-workers-"));
  cpSync(fixture(""), dir, { recursive: true });
  return dir;
}

const start = (host: TestServer["host"], php: Config["php"], dir = site(), more: Config = {}) =>
  startServer({ host, dir, config: { log: { access: "off" }, ...more, php: { concurrency: 2, ...php! } } });

/** Requests one after the other until stopped; says how many were answered, and what else came. */
function visitor(server: TestServer, path: string) {
  let on = true, fine = 0;
  const odd: string[] = [];
  const run = (async () => {
    while (on) {
      try {
        const response = await fetch(server.url + path);
        const body = await response.text();
        if (response.status === 200) fine++;
        else odd.push(`${response.status} ${body}`);
      } catch (error) {
        odd.push(String(error));
      }
    }
  })();
  return {
    async stop() {
      on = false;
      await run;
      return { fine, odd };
    },
  };
}

/** The worker scripts that answer the same, and what they speak. */
const protocols = [["frankenphp", "worker.php"], ["goridge", "goridge.php"], ["native", "native.php"]] as const;

for (const host of hosts().filter((name) => name === "bun" || name === "deno" || name === "binary")) {
  for (const [protocol, script] of protocols) {
    describe(`${protocol} workers on ${host}`, () => {
      let server: TestServer;
      beforeAll(async () => void (server = await start(host, { script, protocol })));
      afterAll(async () => await server?.[Symbol.asyncDispose]());

      test("answer, and boot once", async () => {
        const bodies = await Promise.all(Array.from({ length: 20 }, () => text(server, "/who")));
        const seen = new Set(bodies.map((body) => body.split(" ")[0]));
        expect([seen.size <= 2, bodies.length]).toEqual([true, 20]);
        expect((await pids(server)).length).toBe(2);
      });

      test("are sent bodies whole, and send them back", async () => {
        const body = "x".repeat(300_000);
        const reply = await text(server, "/echo", { method: "POST", body, headers: { "content-type": "text/plain" } });
        expect(reply.length).toBe(body.length);
      });

      test("cost their own request only when they are killed, and come back", async () => {
        const visits = [visitor(server, "/who"), visitor(server, "/who")];
        const victims = new Set(await pids(server));
        for (const pid of victims) process.kill(pid, "SIGKILL");
        await waitFor(async () => {
          const now = await pools(server);
          return now[0]!.processes.filter(({ pid, state }) => state === "idle" && !victims.has(pid)).length > 0;
        }, { what: "a new worker" });
        const results = await Promise.all(visits.map((visit) => visit.stop()));
        expect(results.flatMap(({ odd }) => odd).length).toBeLessThanOrEqual(victims.size);
        // A permit comes back when there is a worker for it again.
        await waitFor(async () => total(await server.metrics(), "fairlead_admission_in_use") === 0, {
          what: "every permit to come back",
        });
      });

      test("are replaced by a reload without losing a request", async () => {
        const before = await pids(server);
        const visits = [visitor(server, "/who"), visitor(server, "/who"), visitor(server, "/who")];
        const answer = await fetch(`${server.adminUrl}/-/reload`, { method: "POST" });
        expect(await answer.json()).toEqual({ reloaded: { php: "ok" } });
        server.signal("SIGHUP");
        await waitFor(() => (server.output().match(/ reloaded /g)?.length ?? 0) >= 2, { what: "the second reload" });
        const results = await Promise.all(visits.map((visit) => visit.stop()));
        expect(results.flatMap(({ odd }) => odd)).toEqual([]);
        expect((await pids(server)).filter((pid) => before.includes(pid))).toEqual([]);
        expect(before.filter(alive)).toEqual([]);
      });
    });
  }

  describe(`FrankenPHP scripts on ${host}`, () => {
    let server: TestServer;
    const dir = site();
    beforeAll(async () => {
      server = await start(host, { script: "worker.php", max_requests: 0 }, dir, { server: { timeout: "1500ms" } });
    });
    afterAll(async () => {
      await server?.[Symbol.asyncDispose]();
      rmSync(dir, { recursive: true, force: true });
    });

    test("have superglobals, headers, cookies and statuses of the request alone", async () => {
      const first = await fetch(`${server.url}/echo?a[]=1&a[]=2`, {
        method: "POST",
        body: new URLSearchParams({ "b.c": "d" }),
        headers: { cookie: "k=v" },
      });
      expect(first.status).toBe(201);
      expect([first.headers.get("x-seen"), first.headers.getSetCookie()[0]?.split(";")[0]]).toEqual(["yes", "c=1"]);
      expect(await first.json()).toEqual({
        get: { a: ["1", "2"] },
        post: { b_c: "d" },
        cookie: { k: "v" },
        files: [],
        uri: "/echo?a[]=1&a[]=2",
        script: "/index.php",
      });
      const second = await fetch(`${server.url}/plain`);
      expect([second.status, second.headers.get("x-seen"), await second.text()]).toEqual([200, null, "plain"]);
    });

    test("get uploads they can move", async () => {
      const form = new FormData();
      form.set("f", new File(["some bytes"], "name.txt", { type: "text/plain" }));
      expect(await text(server, "/upload", { method: "POST", body: form })).toBe("name.txt 0 10 true some bytes");
    });

    test("keep sessions apart", async () => {
      const first = await fetch(`${server.url}/session`);
      const cookie = first.headers.getSetCookie()[0]!.split(";")[0]!;
      expect(await first.text()).toBe("1");
      expect(await text(server, "/session", { headers: { cookie } })).toBe("2");
      for (let i = 0; i < 4; i++) expect(await text(server, "/session")).toBe("1");
    });

    test("may exit: the answer is whole, and another worker goes on", async () => {
      const answer = await fetch(`${server.url}/exit`);
      expect([answer.status, await answer.text()]).toEqual([418, "bye"]);
      expect(await text(server, "/plain")).toBe("plain");
    });

    test("may throw: 500, and the worker goes on", async () => {
      expect((await fetch(`${server.url}/throw`)).status).toBe(500);
      expect(await text(server, "/plain")).toBe("plain");
    });

    test("stream: every part arrives when it is flushed", async () => {
      const answer = await fetch(`${server.url}/events`);
      const reader = answer.body!.getReader();
      const decoder = new TextDecoder();
      let got = decoder.decode((await reader.read()).value, { stream: true });
      expect(got).toBe("data: 1\n\n");
      for (let r = await reader.read(); !r.done; r = await reader.read()) {
        got += decoder.decode(r.value, { stream: true });
      }
      expect(got).toBe("data: 1\n\ndata: 2\n\n");
    });

    test("that take too long get 504, and are gone", async () => {
      const before = await pids(server);
      const answer = await fetch(`${server.url}/hang`);
      expect(answer.status).toBe(504);
      await waitFor(async () => {
        const now = await pools(server);
        return now[0]!.processes.filter(({ state }) => state === "idle").length === 2;
      }, { what: "the pool to be whole" });
      expect(before.filter((pid) => !alive(pid)).length).toBe(1);
    });

    test("may read a body behind the response, as long as they work", async () => {
      const marks = join(dir, "marks");
      writeFileSync(marks, "");
      chmodSync(marks, 0o666);
      const body = "x".repeat(300_000);
      const init = { method: "POST", body, headers: { "content-type": "text/plain" } };
      expect(await text(server, "/after", init)).toBe("done");
      await waitFor(() => readFileSync(marks, "utf8") === "300000", { what: "the script to have read its body" });
    });

    test("may exit in a shutdown function: the page is whole", async () => {
      const answer = await fetch(`${server.url}/shutdown`);
      expect([answer.status, await answer.text()]).toEqual([200, "page"]);
    });

    test("may fork: the child says nothing in its parent's name", async () => {
      for (let i = 0; i < 4; i++) expect(await text(server, "/fork")).toBe("parent");
      const posts = Array.from({ length: 6 }, () => text(server, "/sleep?60", { method: "POST", body: "" }));
      expect(await Promise.all(posts)).toEqual(posts.map(() => "slept"));
    });

    test("have the home of their own user", async () => {
      const [home, own] = (await text(server, "/home")).split(" ");
      expect(home).toBe(own!);
    });

    test("whose client leaves while they wait are never run", async () => {
      const marks = join(dir, "marks");
      writeFileSync(marks, "");
      // Whoever PHP runs as must be able to write to it.
      chmodSync(marks, 0o666);
      const busy = [text(server, "/sleep?400"), text(server, "/sleep?400")];
      await waitFor(async () => total(await server.metrics(), "fairlead_php_busy") === 2, { what: "two busy workers" });
      const leaver = new AbortController();
      const left = text(server, "/mark", { signal: leaver.signal }).catch(() => "left");
      await waitFor(async () => total(await server.metrics(), "fairlead_admission_queued") === 1, {
        what: "one in line",
      });
      leaver.abort();
      expect(await left).toBe("left");
      await Promise.all(busy);
      expect(await text(server, "/plain")).toBe("plain");
      expect(readFileSync(marks, "utf8")).toBe("");
    });
  });

  // What follows is the pool's work, the same on every host.
  if (host !== hosts()[0]) continue;

  /** Two at a time, each with a server of its own: one of them mostly waits. */
  const twoAtOnce = pLimit(2);
  const beside = (name: string, work: () => Promise<void>) =>
    test.concurrent(name, () => twoAtOnce(() => within(60_000, "The test", work())));

  beside(`workers on ${host}: isolation by fork leaves no state, and survives a reload`, async () => {
    await using server = await start(host, { script: "worker.php", isolation: "fork" });
    for (let i = 0; i < 6; i++) expect((await text(server, "/who")).split(" ")[1]).toBe("1");
    const answer = await within(20_000, "The reload", fetch(`${server.adminUrl}/-/reload`, { method: "POST" }));
    expect(await answer.json()).toEqual({ reloaded: { php: "ok" } });
    expect((await text(server, "/who")).split(" ")[1]).toBe("1");
  });

  beside(`workers on ${host}: named pools take their requests, each with its own engine`, async () => {
    await using server = await start(host, {
      front_controller: "/index.php",
      pools: { api: { match: { path: ["/api/**"] }, script: "worker.php", concurrency: 1, env: { POOL: "api" } } },
    });
    expect((await text(server, "/api/who")).split(" ")[1]).toBe("1");
    expect((await text(server, "/api/who")).split(" ")[1]).toBe("2");
    expect(await text(server, "/anything")).toBe("fpm-fcgi");
    expect((await pools(server)).map(({ name }) => name)).toEqual(["php:api", "php"]);
  });

  beside(`workers on ${host}: a script starts in the root of its application, wherever it lies`, async () => {
    const dir = site();
    mkdirSync(join(dir, "deep/down"), { recursive: true });
    const script = "<?php $at = getcwd(); while (frankenphp_handle_request(function () use ($at) { echo $at; }));";
    writeFileSync(join(dir, "deep/down/worker.php"), script);
    await using server = await start(host, { script: "deep/down/worker.php", concurrency: 1 }, dir);
    expect(await text(server, "/")).toBe(realpathSync(dir));
  });

  beside(
    `workers on ${host}: a script that does not boot is told, tried slowly, and taken up when it is mended`,
    async () => {
      const dir = site();
      writeFileSync(join(dir, "broken.php"), "<?php fwrite(fopen('php://stderr', 'w'), \"no database\\n\"); exit(3);");
      await using server = await startServer({
        host,
        dir,
        probe: "/livez",
        config: { log: { access: "off" }, php: { script: "broken.php", protocol: "frankenphp", concurrency: 2 } },
      });
      await waitFor(async () => {
        const { parts } = await (await fetch(`${server.adminUrl}/readyz`)).json() as { parts: Record<string, string> };
        return /exit code 3.*no database/s.test(parts["php"] ?? "");
      }, { what: "the reason on /readyz" });
      expect((await fetch(`${server.url}/plain`)).status).toBe(503);
      cpSync(join(dir, "worker.php"), join(dir, "broken.php"));
      await waitFor(async () => (await fetch(`${server.adminUrl}/readyz`)).status === 200, {
        what: "the pool to recover",
        timeout: 20_000,
      });
      expect(await text(server, "/plain")).toBe("plain");
      rmSync(dir, { recursive: true, force: true });
    },
  );

  beside(
    `workers on ${host}: code that is broken on disk takes no worker away, and a refused reload says so`,
    async () => {
      const dir = site();
      await using server = await start(host, { script: "worker.php", max_requests: 5 }, dir);
      await text(server, "/who");
      writeFileSync(
        join(dir, "worker.php"),
        "<?php throw new Exception('half a deploy'); // frankenphp_handle_request(",
      );
      const answer = await fetch(`${server.adminUrl}/-/reload`, { method: "POST" });
      expect([answer.status, await answer.text()]).toEqual([500, expect.stringContaining("half a deploy")]);
      const statuses = await Promise.all(
        Array.from({ length: 60 }, async () => (await fetch(`${server.url}/who`)).status),
      );
      expect(statuses.filter((status) => status !== 200)).toEqual([]);
      cpSync(fixture("worker.php"), join(dir, "worker.php"));
      expect((await fetch(`${server.adminUrl}/-/reload`, { method: "POST" })).status).toBe(200);
      rmSync(dir, { recursive: true, force: true });
    },
  );

  beside(`workers on ${host}: nothing of a server stays that was killed`, async () => {
    const dir = site();
    const temp = join(dir, "temp");
    mkdirSync(temp);
    chmodSync(temp, 0o755);
    const config = { log: { access: "off" }, php: { script: "worker.php", ini: { user_agent: "a secret" } } };
    const old = await startServer({ host, dir, config, env: { TMPDIR: temp } });
    const [folder] = readdirSync(temp);
    const commands = (await pids(old)).map((pid) => readFileSync(`/proc/${pid}/cmdline`, "latin1"));
    expect(commands.filter((command) => command.includes("a secret"))).toEqual([]);
    await old.stop("SIGKILL");
    // As if a minute had passed.
    utimesSync(join(temp, folder!), new Date(Date.now() - 120_000), new Date(Date.now() - 120_000));
    await using _next = await startServer({ host, dir, config, env: { TMPDIR: temp } });
    await waitFor(() => !existsSync(join(temp, folder!)), { what: "the folder to be cleared away" });
    expect(readdirSync(temp).length).toBe(1);
    rmSync(dir, { recursive: true, force: true });
  });

  beside(`workers on ${host}: a deploy that flips a link is followed by a reload`, async () => {
    const dir = site();
    for (const release of ["one", "two"]) {
      cpSync(fixture(""), join(dir, release), { recursive: true });
      writeFileSync(join(dir, release, "release.txt"), release);
    }
    symlinkSync("one", join(dir, "current"));
    await using server = await start(host, { root: "./current", script: "worker.php" }, dir);
    expect(await text(server, "/release")).toBe("one");
    symlinkSync("two", join(dir, "next"));
    renameSync(join(dir, "next"), join(dir, "current"));
    await fetch(`${server.adminUrl}/-/reload`, { method: "POST" });
    for (let i = 0; i < 4; i++) expect(await text(server, "/release")).toBe("two");
    rmSync(dir, { recursive: true, force: true });
  });
}

test("the example of a worker answers, keeps its count, and takes up what is saved", async () => {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-example-"));
  cpSync(fileURLToPath(new URL("../../../examples/worker/", import.meta.url)), dir, { recursive: true });
  const { php } = parse(readFileSync(join(dir, "fairlead.toml"), "utf8")) as unknown as {
    readonly php: Config[string];
  };
  await using server = await startServer({ host: hosts()[0]!, dir, config: { log: { access: "off" }, php } });
  await waitFor(async () => /request 3,/.test(await text(server, "/")), { what: "a worker's third answer", every: 0 });
  const greeted = await text(server, "/greet", { method: "POST", body: new URLSearchParams({ name: "<b>" }) });
  expect(greeted).toContain("Hello, &lt;b&gt;");
  expect((await fetch(`${server.url}/fail`)).status).toBe(500);
  const parts: string[] = [];
  for await (const part of (await fetch(`${server.url}/clock`)).body!) parts.push(new TextDecoder().decode(part));
  // Half a second lies between two of them.
  expect(parts.length).toBeGreaterThanOrEqual(5);
  expect(parts.join("")).toMatch(/(<li>\d\d:\d\d:\d\d){5}<\/ol>/);
  expect([(await fetch(`${server.url}/nowhere`)).status, await text(server, "/style.css")])
    .toEqual([404, readFileSync(join(dir, "public/style.css"), "utf8")]);
  const script = readFileSync(join(dir, "worker.php"), "utf8");
  writeFileSync(join(dir, "worker.php"), script.replace("'A worker'", "'Another worker'"));
  await waitFor(async () => (await text(server, "/")).includes("Another worker"), {
    what: "the new code",
    timeout: 10_000,
  });
  rmSync(dir, { recursive: true, force: true });
});

test("a pool that makes no sense is an error before anything listens", async () => {
  const host = hosts()[0]!;
  const cases: readonly (readonly [Config["php"], RegExp])[] = [
    [{ engine: "worker" }, /expected a script too/],
    [{ engine: "fpm", script: "worker.php" }, /php\.script: it is for engine/],
    [{ script: "nowhere.php" }, /no script/],
    ...(process.getuid?.() === 0 ? [[{ script: "closed.php" }, /who may not read .*closed\.php/] as const] : []),
    [{ script: "public/index.php" }, /Cannot tell what protocol/],
    [{ script: "worker.php", isolation: "thread" }, /php\.isolation/],
    [{ pools: { x: { script: "worker.php" } } }, /match/],
  ];
  for (const [php, message] of cases) {
    const dir = site();
    writeFileSync(join(dir, "closed.php"), "<?php frankenphp_handle_request(null);", { mode: 0o600 });
    const exit = await runToExit({ host, dir, config: { php: php! } });
    expect([exit.code === 0, exit.output]).toEqual([false, expect.stringMatching(message)]);
  }
});
