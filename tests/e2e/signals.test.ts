/** Signals that come before the server is ready. */
import { describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cleanEnvironment, commandOf, hosts, runToExit, startServer } from "../support/server.ts";
import { allowSlowTests, waitFor } from "../support/wait.ts";

allowSlowTests(60_000);

/** A folder with a plugin that signals its own process while it is loaded and set up. */
function site(loading: string, settingUp: string, listening = ""): string {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-signals-"));
  mkdirSync(join(dir, "public"));
  mkdirSync(join(dir, "temp"), { mode: 0o755 });
  writeFileSync(
    join(dir, "early.ts"),
    `const send = async (name) => {
  if (name === "") return;
  // Without a handler it would be the end, and one of ours would hide that there is none.
  if (process.listenerCount(name) === 0) process.exit(99);
  const heard = new Promise((done) => process.once(name, done));
  process.kill(process.pid, name);
  await heard;
};
await send("${loading}");
export default {
  name: "early", api: 1,
  config: { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } },
  setup: async () => {
    await send("${settingUp}");
    return { onListen: { order: "post", handler: () => send("${listening}") } };
  },
};
`,
  );
  return dir;
}

const plugins = { early: { use: "./early.ts" } };

/** Processes that name this folder on their command line. */
function processesOf(folder: string): string[] {
  return readdirSync("/proc").filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, "latin1").includes(folder);
    } catch {
      return false; // it has just ended
    }
  });
}

for (const host of hosts().filter((name) => name in { bun: 1, deno: 1, binary: 1 })) {
  describe(`a start on ${host}`, () => {
    test("outlives a SIGHUP, and reloads for it when it is ready", async () => {
      const dir = site("SIGHUP", "SIGHUP");
      await using server = await startServer({ host, dir, config: { plugins } });
      await waitFor(() => server.output().includes("reloaded"), { what: "the reload" });
      expect(server.output().match(/reloaded/g)?.length).toBe(1);
      expect((await server.stop()).code).toBe(0);
      rmSync(dir, { recursive: true });
    });

    for (
      const [when, loading, settingUp, listening] of [
        ["a SIGTERM while plugins are loaded", "SIGTERM", "", ""],
        ["a SIGINT while plugins are set up", "", "SIGINT", ""],
        ["a SIGTERM when PHP is up and nothing listens yet", "", "", "SIGTERM"],
      ] as const
    ) {
      test(`is taken back after ${when}`, async () => {
        const dir = site(loading, settingUp, listening);
        const temp = join(dir, "temp");
        const config = { plugins, php: { concurrency: 1 } };
        const { code, output } = await runToExit({ host, dir, config, env: { TMPDIR: temp }, readyTimeout: 50_000 });
        expect([code, output]).toEqual([0, expect.not.stringContaining("serving")]);
        expect(output.includes("php-fpm is up")).toBe(listening !== "");
        expect(readdirSync(temp)).toEqual([]);
        expect(processesOf(temp)).toEqual([]);
        rmSync(dir, { recursive: true });
      });
    }

    const again = host === "deno" ? test.skip : test;
    again("outlives a SIGHUP right after it has started itself over", async () => {
      const dir = site("", "");
      const file = join(dir, "fairlead.toml");
      writeFileSync(file, '[server]\nlisten = ["127.0.0.1:0"]\n[admin]\nlisten = ""\n');
      const [program, ...args] = commandOf(host);
      const env = cleanEnvironment();
      delete env["MIMALLOC_PURGE_DELAY"];
      const child = spawn(program!, [...args, "serve", "-c", file], {
        cwd: dir,
        env,
        stdio: ["ignore", "pipe", "pipe"],
      });
      let output = "";
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => output += text);
      const exited = new Promise((done) => child.once("exit", (code, signal) => done(code ?? signal)));
      try {
        await waitFor(() => readFileSync(`/proc/${child.pid}/environ`, "latin1").includes("MIMALLOC_PURGE_DELAY"), {
          what: "the new program",
          every: 0,
        });
        child.kill("SIGHUP");
        await Promise.race([exited, waitFor(() => output.includes("serving"), { what: "the server" })]);
        child.kill("SIGTERM");
        expect([await exited, output]).toEqual([0, expect.stringContaining("serving")]);
      } finally {
        child.kill("SIGKILL");
        rmSync(dir, { recursive: true });
      }
    });
  });
}
