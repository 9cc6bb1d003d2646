/** What a server leaves that ended without an end. */
import { expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stringify } from "smol-toml";
import { memoryKept } from "../../../core/allocator.ts";
import { findPhpFpm } from "../../../plugins/php/find.ts";
import { alive, childrenOf, commandOf, descendantsOf } from "../../support/proc.ts";
import { cleanEnvironment, commandOf as commandLineOf, hosts, startServer } from "../../support/server.ts";
import { allowSlowTests, waitFor } from "../../support/wait.ts";

allowSlowTests(120_000);

function site(): { dir: string; temp: string } {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-over-"));
  const temp = join(dir, "temp");
  for (const folder of [join(dir, "public"), temp]) mkdirSync(folder);
  for (const folder of [dir, temp]) chmodSync(folder, 0o755);
  cpSync(fileURLToPath(new URL("fixtures/worker.php", import.meta.url)), join(dir, "worker.php"));
  return { dir, temp };
}

for (const host of hosts().filter((name) => name in { bun: 1, deno: 1, binary: 1 })) {
  const what = {
    "a php-fpm that nothing ties to its killed server": false,
    "children of a php-fpm that was killed with its server": true,
  };
  for (const [name, orphans] of Object.entries(what)) {
    test(`left over on ${host}: ${name}: ended by the next one`, async () => {
      const { dir, temp } = site();
      const { path: binary } = await findPhpFpm(undefined);
      // Without setpriv.
      const env = { TMPDIR: temp, PATH: join(dir, "nothing") };
      const config = { php: { binary, concurrency: 1 } };
      const old = await startServer({ host, dir, config, env });
      const [folder] = readdirSync(temp);
      const started = descendantsOf(old.pid), masters = childrenOf(old.pid);
      await old.stop("SIGKILL");
      if (orphans) {
        for (const pid of masters) process.kill(pid, "SIGKILL");
        await waitFor(() => !masters.some(alive), { what: "the master's end" });
      }
      const left = started.filter(({ pid }) => !orphans || !masters.includes(pid));
      expect(left.length).toBeGreaterThan(orphans ? 0 : 1);
      expect(left.every(({ pid }) => alive(pid))).toBe(true);
      // It has no pool of that kind itself.
      await using next = await startServer({
        host,
        dir,
        config: { php: { engine: "worker", script: "worker.php" } },
        env,
      });
      expect(left.filter(({ pid }) => alive(pid))).toEqual([]);
      expect(existsSync(join(temp, folder!))).toBe(false);
      expect(next.output()).toContain("an earlier server had left");
      rmSync(dir, { recursive: true });
    });
  }
}

const pools = {
  "php-fpm": { concurrency: 2 },
  workers: { script: "worker.php", protocol: "frankenphp", concurrency: 2 },
  forks: { script: "worker.php", protocol: "frankenphp", isolation: "fork", concurrency: 1 },
};

for (const [name, php] of Object.entries(pools)) {
  const watched = hosts().includes("bun") ? test : test.skip;
  watched(`left over by bun --watch: no process and no folder of ${name}`, async () => {
    const { dir, temp } = site();
    const plugin = (text: string) =>
      writeFileSync(
        join(dir, "seen.ts"),
        `// ${text}
export default {
  name: "seen", api: 1,
  config: { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } },
  setup: () => ({}),
};
`,
      );
    plugin("before");
    const server = { listen: ["127.0.0.1:0"], public: "./public" };
    const file = join(dir, "fairlead.toml");
    writeFileSync(file, stringify({ server, admin: { listen: "" }, plugins: { seen: { use: "./seen.ts" } }, php }));
    const [program, ...args] = commandLineOf("bun");
    const child = spawn(program!, ["--watch", ...args, "serve", "-c", file], {
      cwd: dir,
      env: { ...cleanEnvironment(), ...memoryKept, TMPDIR: temp },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => output += text);
    const exited = new Promise((done) => child.once("exit", done));
    const served = (times: number) =>
      waitFor(() => output.split("serving ").length > times && childrenOf(child.pid!).length > 0, {
        what: `start ${times}`,
        timeout: 60_000,
      });
    try {
      await served(1);
      const first = readdirSync(temp);
      const before = descendantsOf(child.pid!);
      expect([first.length, before.length > 0]).toEqual([1, true]);
      plugin("after");
      await served(2);
      const now = readdirSync(temp);
      expect([now.length, now[0] === first[0]]).toEqual([1, false]);
      expect(before.filter(({ pid }) => alive(pid)).map(({ pid }) => commandOf(pid))).toEqual([]);
    } finally {
      child.kill("SIGTERM");
      await exited;
      rmSync(dir, { recursive: true, force: true });
    }
  });
}
