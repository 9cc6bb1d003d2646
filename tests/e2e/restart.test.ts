/** One server replaces another, and no client notices. */
import { describe, expect, test } from "bun:test";
import { execFileSync, spawn } from "node:child_process";
import { copyFileSync, existsSync, lstatSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { connect as connectTls } from "node:tls";
import pLimit from "p-limit";
import { makeCertificates } from "../support/certificates.ts";
import { alive } from "../support/proc.ts";
import { flags, frames, get, RawHttp2 } from "../support/raw_http2.ts";
import { ask, ReplacedSite } from "../support/replaced_site.ts";
import { commandOf, hosts, runtimes } from "../support/server.ts";
import { SteadyLoad } from "../support/steady_load.ts";
import { allowSlowTests, waitFor } from "../support/wait.ts";

// Those that stand in line for their turn wait for it within their time.
allowSlowTests(600_000);

const page = `<?php
while (isset($_GET['wait']) && !file_exists('go')) {
    usleep(20000);
    clearstatcache();
}
echo getenv('WHICH'), ' ', $_GET['n'] ?? '';
`;
const named = (which: string) => ({ concurrency: 2, env: { WHICH: which } });

/** Most of these wait for a server that listens for those who come late. */
const twoAtOnce = pLimit(2);
const served = (name: string) => name in { bun: 1, deno: 1, binary: 1 };

for (const host of hosts().filter(served)) {
  describe(`a restart on ${host}`, () => {
    test("refuses, resets and fails nobody, three times in a row, and new settings count", async () => {
      await using site = await ReplacedSite.start({ host, config: { php: named("0") } });
      writeFileSync(join(site.dir, "public/index.php"), page);
      const to = { host: "127.0.0.1", port: site.port };
      const load = new SteadyLoad({ to, path: "/index.php", connecting: 4, keeping: 6, thinkMs: 500 });
      const pids = new Set([await site.pid()]);
      for (const which of ["1", "2", "3"]) {
        site.configure({ php: named(which) });
        pids.add(await site.replace());
        const before = load.answered;
        await waitFor(() => load.answered > before + 100, { what: "answers of the new one", timeout: 30_000 });
      }
      expect(await site.exited).toBe(0);
      const { failures, bodies, answered } = await load.stop();
      expect(failures).toEqual([]);
      expect([...bodies.keys()].sort()).toEqual(["0 ", "1 ", "2 ", "3 "]);
      expect(answered).toBeGreaterThan(300);
      expect(pids.size).toBe(4);
      console.log(`${host}: ${answered} requests over three restarts, none failed`);
      await site.stop();
    });
  });
}

for (const host of runtimes().filter(served)) {
  const scenario = (name: string, run: () => Promise<void>) => test.concurrent(name, () => twoAtOnce(run));

  describe(`a restart on ${host}`, () => {
    scenario("answers what runs and what waits in line", async () => {
      const config = (which: string) => ({ admission: { grace: "60s" }, php: { ...named(which), concurrency: 1 } });
      await using site = await ReplacedSite.start({ host, config: config("old") });
      writeFileSync(join(site.dir, "public/index.php"), page);
      const say = async (query: string) => {
        const { status, text } = await ask(`${site.url}/index.php?${query}`);
        return `${status} ${text}`;
      };
      const asked = Array.from({ length: 4 }, (_, n) => say(`wait&n=${n}`));
      await waitFor(async () => {
        const { text } = await ask(`${site.adminUrl}/metrics`);
        return /^fairlead_admission_queued\{[^}]*\} 3$/m.test(text);
      }, { what: "the line" });
      site.configure(config("new"));
      await site.replace();
      expect(await say("n=5")).toBe("200 new 5");
      writeFileSync(join(site.dir, "public/go"), "");
      expect(await Promise.all(asked)).toEqual(["200 old 0", "200 old 1", "200 old 2", "200 old 3"]);
      expect(await site.exited).toBe(0);
    });

    scenario("does nothing when the new settings are wrong, and says what is", async () => {
      await using site = await ReplacedSite.start({ host, config: { php: named("old") } });
      const old = await site.pid();
      const right = readFileSync(site.file, "utf8");
      writeFileSync(site.file, `${right}\n[nonsense]\nx = 1\n`);
      const byFile = await site.restart();
      expect(byFile).toEqual({ code: 2, output: expect.stringContaining("nonsense") });
      // Who asks by address has not read the file: the successor does.
      const byAddress = await site.restart("--admin", `127.0.0.1:${site.adminPort}`);
      expect(byAddress).toEqual({ code: 1, output: expect.stringContaining("nonsense") });
      expect(await site.pid()).toBe(old);
      expect(site.log()).toContain("this server goes on");
      writeFileSync(site.file, right);
      expect(await site.replace()).not.toBe(old);
    });

    scenario("leaves the old server as it is when PHP does not boot", async () => {
      const files = {
        "good.php": "<?php while (frankenphp_handle_request(function () { echo 'good'; })) {}",
        "bad.php": "<?php throw new Exception('boom'); frankenphp_handle_request();",
      };
      const at = (script: string) => ({ server: { listen: listenOn(site) }, php: { script, concurrency: 1 } });
      await using site = await ReplacedSite.start({
        host,
        files,
        config: { php: { script: "good.php", concurrency: 1 } },
      });
      site.configure(at("good.php"));
      await site.replace();
      const [old, socket] = [await site.pid(), join(site.dir, "http.sock")];
      const { ino } = lstatSync(socket);
      site.configure(at("bad.php"));
      const to = { host: "127.0.0.1", port: site.port };
      const load = new SteadyLoad({ to, path: "/", connecting: 2, keeping: 2, thinkMs: 20 });
      const { code, output } = await site.restart();
      expect([code, output]).toEqual([1, expect.stringContaining("does not boot")]);
      expect((await load.stop()).failures).toEqual([]);
      expect([await site.pid(), lstatSync(socket).ino]).toEqual([old, ino]);
      site.configure(at("good.php"));
      expect(await site.replace()).not.toBe(old);
    });

    scenario("goes on as before when the successor is killed half way", async () => {
      const slow = `export default {
  name: "slow", api: 1,
  config: { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } },
  setup: () => ({ onListen: async () => {
    if (!(await import("node:fs")).existsSync("slow")) return;
    (await import("node:fs")).writeFileSync("arrived", String(process.pid));
    await new Promise((done) => setTimeout(done, 60000));
  } }),
};`;
      const config = { plugins: { slow: { use: "./slow.mjs" } }, php: named("old") };
      await using site = await ReplacedSite.start({ host, files: { "slow.mjs": slow }, config });
      writeFileSync(join(site.dir, "public/index.php"), page);
      writeFileSync(join(site.dir, "slow"), "");
      const old = await site.pid();
      const to = { host: "127.0.0.1", port: site.port };
      const load = new SteadyLoad({ to, path: "/index.php", connecting: 2, keeping: 2, thinkMs: 20 });
      const asked = site.restart();
      await waitFor(() => existsSync(join(site.dir, "arrived")), { what: "the successor", timeout: 90_000 });
      process.kill(Number(readFileSync(join(site.dir, "arrived"), "utf8")), "SIGKILL");
      expect(await asked).toEqual({ code: 1, output: expect.stringContaining("SIGKILL") });
      const { failures, bodies } = await load.stop();
      expect([failures, [...bodies.keys()], await site.pid()]).toEqual([[], ["old "], old]);
      renameSync(join(site.dir, "slow"), join(site.dir, "fast"));
      expect(await site.replace()).not.toBe(old);
    });

    scenario("passes a unix socket on, and serves a certificate that was renewed", async () => {
      await using site = await ReplacedSite.start({ host, config: { php: named("old") } });
      const { ca, cert, key, otherNameCert, otherNameKey } = makeCertificates(site.dir);
      for (const [from, to] of [[cert, "now.pem"], [key, "now-key.pem"]] as const) {
        copyFileSync(from, join(site.dir, to));
      }
      const tls = { cert: "now.pem", key: "now-key.pem" };
      const config = { server: { listen: listenOn(site), tls }, php: named("old") };
      writeFileSync(join(site.dir, "public/index.php"), page);
      site.configure(config);
      await site.replace();
      const secure = { host: "127.0.0.1", port: site.port, ca: readFileSync(ca, "utf8"), servername: "localhost" };
      const socket = join(site.dir, "http.sock");
      expect([await subjectOf(secure), lstatSync(socket).mode & 0o777]).toEqual(["server", 0o660]);
      const options = { path: "/index.php", connecting: 2, keeping: 3, thinkMs: 200 };
      const loads = [
        new SteadyLoad({ ...options, to: { path: socket } }),
        new SteadyLoad({ ...options, to: { ...secure, checkServerIdentity: () => undefined } as never }),
      ];
      copyFileSync(otherNameCert, join(site.dir, "now.pem"));
      copyFileSync(otherNameKey, join(site.dir, "now-key.pem"));
      const old = await site.pid();
      await site.replace();
      expect(await subjectOf(secure)).toBe("elsewhere");
      await waitFor(() => !alive(old), { what: "the end of the old one", timeout: 30_000 });
      const reports = await Promise.all(loads.map((load) => load.stop()));
      expect(reports.flatMap(({ failures }) => failures)).toEqual([]);
      for (const { answered } of reports) expect(answered).toBeGreaterThan(20);
      expect(lstatSync(socket).mode & 0o777).toBe(0o660);
      // Nothing is left of the names beside it, and the last one takes its own away.
      expect(readdirSync(site.dir).filter((name) => name.startsWith("."))).toEqual([]);
      await site.stop();
      expect(existsSync(socket)).toBe(false);
    });

    // HTTP/2 is Bun's.
    if (host !== "deno") {
      scenario("answers every stream of a connection of HTTP/2, and then says good-bye", async () => {
        await using site = await ReplacedSite.start({ host, config: { php: named("old") } });
        const { cert, key } = makeCertificates(site.dir);
        const at = { listen: [`127.0.0.1:${site.port}`], tls: { cert, key } };
        writeFileSync(join(site.dir, "public/index.php"), page);
        site.configure({ server: at, php: named("old") });
        await site.replace();
        const old = await site.pid();
        using connection = await RawHttp2.connect(site.port);
        // Two run, the others stand in line.
        const streams = Array.from({ length: 8 }, (_, i) => 1 + 2 * i);
        for (const stream of streams) connection.ask(stream, get(`/index.php?wait&n=${stream}`));
        await waitFor(async () => {
          return /^fairlead_admission_queued\{[^}]*\} 6$/m.test((await ask(`${site.adminUrl}/metrics`)).text);
        }, { what: "six in line" });
        site.configure({ server: at, php: named("new") });
        await site.replace();
        writeFileSync(join(site.dir, "public/go"), "");
        for (const stream of streams) {
          await connection.until((f) =>
            f.stream === stream && f.type <= frames.headers && (f.flags & flags.endStream) !== 0
          );
        }
        expect(streams.map((stream) => connection.body(stream))).toEqual(streams.map((stream) => `old ${stream}`));
        using fresh = await RawHttp2.connect(site.port);
        fresh.ask(1, get("/index.php?n=1"));
        expect([await fresh.fate(1), fresh.body(1)]).toEqual(["answered", "new 1"]);
        expect((await connection.until((f) => f.type === frames.goaway))?.payload.readUInt32BE(4)).toBe(0);
        await waitFor(() => !alive(old), { what: "the end of the old one", timeout: 30_000 });
      });
    }

    scenario("tells the service manager who serves now", async () => {
      const script = "$s = stream_socket_server('udg://' . $argv[1], $n, $e, STREAM_SERVER_BIND); echo \"bound\\n\"; " +
        'while (true) { echo str_replace("\\n", \' \', stream_socket_recvfrom($s, 9999)), "\\n"; }';
      const heard: string[] = [];
      const at = `/tmp/fairlead-notify-${process.pid}-${host}`;
      const manager = spawn("php", ["-r", script, "--", at], { stdio: ["ignore", "pipe", "inherit"] });
      try {
        manager.stdout!.on("data", (text: unknown) => heard.push(...String(text).split("\n").filter(Boolean)));
        await waitFor(() => heard.includes("bound"), { what: "the manager" });
        await using site = await ReplacedSite.start({ host, env: { NOTIFY_SOCKET: at }, config: { php: named("a") } });
        await waitFor(() => heard.includes("READY=1"), { what: "word of the first" });
        const pid = await site.replace();
        expect(await site.exited).toBe(0);
        await site.stop();
        await waitFor(() => heard.includes("STOPPING=1"), { what: "word of the end" });
        expect(heard).toEqual([
          "bound",
          "READY=1",
          expect.stringMatching(/^RELOADING=1 MONOTONIC_USEC=\d+$/),
          `MAINPID=${pid} READY=1`,
          "STOPPING=1",
        ]);
      } finally {
        manager.kill();
        execFileSync("rm", ["-f", at]);
      }
    });
  });
}

const binary = hosts().includes("binary") ? test : test.skip;
binary("a restart of the binary starts the one that has its name by now", async () => {
  const folder = join(process.cwd(), "dist"), name = join(folder, `fairlead-${process.pid}`);
  copyFileSync(commandOf("binary")[0]!, name);
  try {
    await using site = await ReplacedSite.start({ host: "binary", command: [name], config: { php: named("a") } });
    copyFileSync(commandOf("binary")[0]!, `${name}.new`);
    renameSync(`${name}.new`, name);
    expect(execFileSync("readlink", [`/proc/${site.firstPid}/exe`], { encoding: "utf8" }).trim()).toBe(
      `${name} (deleted)`,
    );
    const pid = await site.replace();
    expect(execFileSync("readlink", [`/proc/${pid}/exe`], { encoding: "utf8" }).trim()).toBe(name);
  } finally {
    execFileSync("rm", ["-f", name, `${name}.new`]);
  }
});

function listenOn(site: ReplacedSite): string[] {
  return [`127.0.0.1:${site.port}`, `unix:${join(site.dir, "http.sock")}`];
}

function subjectOf(to: { readonly host: string; readonly port: number; readonly ca: string }): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ ...to, checkServerIdentity: () => undefined } as never, () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.once("error", reject);
  });
}
