/**
 * The server as process 1 of a container: what others leave behind is collected.
 *
 * @module
 */
import { expect, test } from "bun:test";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { stringify } from "smol-toml";
import { freePorts } from "../../support/ports.ts";
import { descendantsOf } from "../../support/proc.ts";
import { cleanEnvironment, commandOf, hosts } from "../../support/server.ts";
import { allowSlowTests, waitFor, within } from "../../support/wait.ts";

allowSlowTests(60_000);

const worker = `<?php
while (frankenphp_handle_request(function (): void {
    // Its parent ends first: then it is process 1 that should wait for it.
    exec('setsid sh -c "sleep 0.1 & sleep 0.1 & sleep 0.1 &" > /dev/null 2>&1');
    echo 'started';
})) {}
`;
const prefix = ["--pid", "--fork", "--mount-proc", "--kill-child"];

/** Whether this system lets us make process 1 of a namespace. */
function able(): boolean {
  try {
    execFileSync("unshare", [...prefix, "true"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

for (const host of hosts().filter((name) => name !== "nginx" && name !== "careless")) {
  (able() ? test : test.skip)(`as process 1 on ${host} it leaves no zombies, and ends cleanly`, async () => {
    const dir = mkdtempSync(join(tmpdir(), "fairlead-one-"));
    const [port, adminPort] = await freePorts(2);
    chmodSync(dir, 0o755);
    mkdirSync(join(dir, "public"));
    writeFileSync(join(dir, "worker.php"), worker);
    const config = {
      server: { listen: [`127.0.0.1:${port}`], public: "./public" },
      admin: { listen: `127.0.0.1:${adminPort}` },
      php: { script: "worker.php", concurrency: 1 },
    };
    writeFileSync(join(dir, "fairlead.toml"), stringify(config));
    const args = [...prefix, ...commandOf(host), "serve", "-c", join(dir, "fairlead.toml")];
    const child: ChildProcess = spawn("unshare", args, {
      env: cleanEnvironment(),
      stdio: ["ignore", "ignore", "pipe"],
    });
    let log = "";
    child.stderr!.on("data", (text: unknown) => log += String(text));
    const exited = new Promise<number | null>((resolve) => child.on("exit", (code) => resolve(code)));
    const zombies = () => descendantsOf(child.pid!).filter(({ state }) => state === "Z").length;
    try {
      await waitFor(async () => (await fetch(`http://127.0.0.1:${adminPort}/readyz`)).status === 200, {
        what: "the server",
        timeout: 20_000,
      });
      const whoami = await (await fetch(`http://127.0.0.1:${adminPort}/-/whoami`)).json() as { pid: number };
      expect(whoami.pid).toBe(1);
      const restart = await fetch(`http://127.0.0.1:${adminPort}/-/restart`, { method: "POST" });
      expect([restart.status, (await restart.json() as { code: string }).code]).toEqual([500, "RESTART_PROCESS_ONE"]);
      for (let i = 0; i < 3; i++) expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe("started");
      await waitFor(() => zombies() >= 9, { what: "orphans that have ended" });
      await waitFor(() => zombies() === 0, { what: "the orphans to be collected", timeout: 20_000 });
      const [one] = descendantsOf(child.pid!).filter(({ parent }) => parent === child.pid);
      process.kill(one!.pid, "SIGTERM");
      expect(await within(20_000, "The end", exited)).toBe(0);
    } catch (error) {
      throw new Error(`${(error as Error).message}\n--- stderr of ${host} ---\n${log}`);
    } finally {
      child.kill("SIGKILL");
      await exited;
      rmSync(dir, { recursive: true, force: true });
    }
  });
}
