import { describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { waitFor } from "../../support/wait.ts";
import { app, type Farm, type FarmOptions, gone, openFarm, php, phpCgi, stateOf } from "./support/farm.ts";

const late = fileURLToPath(new URL("support/late.php", import.meta.url));

async function withFarm(options: FarmOptions, work: (farm: Farm) => Promise<void>): Promise<void> {
  const farm = await openFarm(options);
  try {
    await work(farm);
  } finally {
    farm.forks.kill();
    await farm.close();
  }
}

for (
  const [name, argv] of [["cli", [php, "-d", "opcache.enable_cli=1"]], ["cgi", [
    phpCgi,
    "-d",
    "opcache.enable=1",
  ]]] as const
) {
  const env = name === "cgi" ? { REDIRECT_STATUS: "200", REQUEST_METHOD: "GET", SCRIPT_FILENAME: app } : {};

  describe(`forked workers of php ${name}`, () => {
    test("nothing a request leaves behind is there for the next one", () =>
      withFarm({ argv, env }, async (farm) => {
        const seen = [];
        for (let i = 0; i < 5; i++) {
          const { text, exit, asked } = await farm.get("/state");
          seen.push(JSON.parse(text));
          expect(exit.code).toBe(0);
          expect(exit.signal).toBe(null);
          expect(asked).toBe(true);
        }
        const [first] = seen;
        expect(first).toMatchObject({ static: 1, function: 1, global: null, env: false, boot: "1", handler: false });
        expect(first).toMatchObject({ constant: false, class: false });
        const own = new Set(["pid", "random", "lcg"]);
        const shared = (all: Record<string, unknown>) =>
          Object.fromEntries(Object.entries(all).filter(([key]) => !own.has(key)));
        for (const each of seen) expect(shared(each)).toEqual(shared(first));
        expect(new Set(seen.map((each) => each.pid)).size).toBe(5);
        for (let i = 0; i < 4; i++) expect(new Set(seen.map((each) => each.random[i])).size).toBe(5);
        expect(new Set(seen.map((each) => each.lcg)).size).toBe(5);
        expect(first.booted).toBe(farm.forks.pid);
      }));

    test("shutdown functions, destructors, buffers and temporary files have their end", () =>
      withFarm({ argv, env }, async (farm) => {
        const dir = mkdtempSync(join(tmpdir(), "fairlead-marks-"));
        const file = join(dir, "marks");
        const { text } = await farm.get(`/marks?file=${file}`);
        expect(readFileSync(file, "utf8")).toBe("shutdown function\ndestructor\nbuffer flushed\n");
        expect(existsSync(JSON.parse(text))).toBe(false);
        rmSync(dir, { recursive: true });
      }));

    test("the destructor of a class that the request evaluates is called, though no file tells of it", () => {
      const script = fileURLToPath(new URL("support/evaluated.php", import.meta.url));
      const own = name === "cgi" ? { ...env, SCRIPT_FILENAME: script } : {};
      return withFarm({ argv, env: own, script }, async (farm) => {
        const dir = mkdtempSync(join(tmpdir(), "fairlead-marks-"));
        const file = join(dir, "marks");
        const code =
          `class Late { public function __destruct() { file_put_contents('${file}', 'called'); } } $late = new Late();`;
        expect((await farm.get(`/?code=${encodeURIComponent(code)}`)).text).toBe("ran");
        expect(existsSync(file)).toBe(true);
        rmSync(dir, { recursive: true });
      });
    });

    test("an exit code, an end in the middle and a fatal error are each one worker's", () =>
      withFarm({ argv, env }, async (farm) => {
        expect((await farm.get("/exit?code=3")).text).toBe('"bye"');
        expect((await farm.get("/half")).text).toBe("half");
        await farm.get("/fatal");
        await waitFor(() => farm.lines.some((line) => line.includes("missing_function")), { what: "the fatal error" });
        expect((await farm.get("/")).exit.code).toBe(0);
        expect(farm.problems).toEqual([]);
      }));
  });
}

describe("code that no file has", () => {
  async function lateCode(file: string, codeOf: (write: (text: string) => string) => string): Promise<string> {
    const dir = mkdtempSync(join(tmpdir(), "fairlead-late-"));
    const path = join(dir, file);
    const code = codeOf((text) => `file_put_contents('${path}', ${text}, FILE_APPEND);`);
    await withFarm({ script: late }, async (farm) => void await farm.get(`/?${new URLSearchParams({ code })}`));
    const text = existsSync(path) ? readFileSync(path, "utf8") : "";
    rmSync(dir, { recursive: true });
    return text;
  }

  test("has its destructors run", async () => {
    const text = await lateCode(
      "destructor",
      (write) => `class Late { function __destruct() { ${write("'ran'")} } } $late = new Late;`,
    );
    expect(text).toBe("ran");
  });

  test("has shutdown functions that register the next one run", async () => {
    const again = "$n < 6 && register_shutdown_function($step, $n + 1);";
    const text = await lateCode(
      "shutdown",
      (write) => `$step = function ($n) use (&$step) { ${write("(string) $n")} ${again} }; $step(1);`,
    );
    expect(text).toBe("123456");
  });
});

describe("spares", () => {
  test("are ready before they are wanted, and are made up for", () =>
    withFarm({ spares: 3 }, async (farm) => {
      await farm.get("/");
      await waitFor(() => farm.forks.ready === 3, { what: "three spares" });
      const taken = [];
      const before = farm.children();
      for (let i = 0; i < 3; i++) taken.push(await farm.worker());
      // They came from those that were there.
      for (const { worker } of taken) expect(before).toContain(worker.pid);
      await waitFor(() => farm.forks.ready === 3, { what: "three more" });
      for (const { worker } of taken) worker.stop();
      for (const { exited } of taken) expect((await exited).code).toBe(0);
    }));

  test("500 requests in a row leave no process and no file behind", () =>
    withFarm({ spares: 2 }, async (farm) => {
      await farm.get("/");
      await waitFor(() => farm.forks.ready === 2, { what: "two spares" });
      const files = (pid: number | "self") => readdirSync(`/proc/${pid}/fd`).length;
      const [ours, theirs, parent] = [files("self"), files(farm.forks.pid), farm.forks.pid];
      const memory = () => Number(/VmData:\s+(\d+)/.exec(readFileSync(`/proc/${parent}/status`, "utf8"))?.[1]);
      const data = memory();
      const pids = new Set<string>();
      for (let i = 0; i < 500; i++) pids.add((await farm.get("/")).text);
      expect(pids.size).toBe(500);
      expect(farm.forks.pid).toBe(parent);
      await waitFor(() => farm.forks.ready === 2 && farm.children().length === 2, { what: "two children" });
      expect(files("self")).toBeLessThanOrEqual(ours + 1);
      expect(files(parent)).toBe(theirs);
      expect(memory()).toBe(data);
      for (const pid of pids) expect(stateOf(Number(pid))).toBe(undefined);
    }));
});

describe("a child", () => {
  test("is killed with what it started, and nothing else", () =>
    withFarm({}, async (farm) => {
      const busy = await farm.worker();
      const other = await farm.worker();
      busy.send("/sleep");
      await waitFor(() => busy.text() !== "", { what: "its first bytes" });
      const sleeper = Number(/X-Sleeper: (\d+)/.exec(busy.text())?.[1]);
      expect(stateOf(sleeper)).not.toBe(undefined);
      busy.worker.kill();
      expect((await busy.exited).signal).toBe("SIGKILL");
      await gone(sleeper);
      other.send("/");
      expect((await other.exited).code).toBe(0);
      expect(other.text()).toContain(String(other.worker.pid));
    }));

  test("that someone else killed, or stopped, is one lost worker", () =>
    withFarm({}, async (farm) => {
      const idle = await farm.worker();
      process.kill(idle.worker.pid, "SIGKILL");
      expect(await idle.exited).toMatchObject({ code: null, signal: "SIGKILL" });
      const busy = await farm.worker();
      busy.send("/sleep");
      await waitFor(() => busy.text() !== "", { what: "its first bytes" });
      process.kill(busy.worker.pid, "SIGSEGV");
      // What it started holds its connection, and ends with it.
      expect((await busy.exited).signal).toBe("SIGSEGV");
      const stopped = await farm.worker();
      process.kill(stopped.worker.pid, "SIGSTOP");
      stopped.send("/");
      stopped.worker.kill();
      expect((await stopped.exited).signal).toBe("SIGKILL");
      expect((await farm.get("/")).exit.code).toBe(0);
      expect(farm.problems).toEqual([]);
    }));

  test("has its whole answer read, at whatever pace", () =>
    withFarm({}, async (farm) => {
      const taken = await farm.worker();
      taken.send("/big");
      taken.worker.pause();
      await waitFor(() => farm.forks.ready === 2, { what: "its replacement" });
      taken.worker.resume();
      expect((await taken.exited).code).toBe(0);
      expect(taken.text().length).toBe("X: y\r\n\r\n".length + 64 * 65536 + 3);
      expect(taken.calls).toEqual(["ready", "stop asked", "end", "exit"]);
    }));

  test("answers one request, and no second", () =>
    withFarm({}, async (farm) => {
      const taken = await farm.worker();
      taken.send("/sleep");
      expect(() => taken.send("/")).toThrow();
      taken.worker.kill();
      await taken.exited;
      taken.send("/"); // does nothing
    }));
});

describe("the parent", () => {
  test("when killed, costs no request: children finish, and the next launch boots another", () =>
    withFarm({}, async (farm) => {
      const running = await farm.worker();
      running.send("/sleep");
      const idle = await farm.worker();
      const first = farm.forks.pid;
      await waitFor(() => farm.forks.ready === 2, { what: "two spares" });
      process.kill(first, "SIGKILL");
      await waitFor(() => farm.problems.length > 0, { what: "the news" });
      expect(farm.problems.map((error) => error.code)).toEqual(["PHP_FORK_PARENT"]);
      expect(farm.problems[0]?.message).toContain("SIGKILL");
      idle.send("/");
      expect((await idle.exited).code).toBe(0);
      expect(idle.text()).toContain(String(idle.worker.pid));
      running.worker.kill();
      expect((await running.exited).signal).toBe("SIGKILL");
      await gone(running.worker.pid);
      expect((await farm.get("/")).exit.code).toBe(0);
      expect(farm.forks.pid).not.toBe(first);
    }));

  test("when it does not boot, fails every launch with its last words", () =>
    withFarm({ env: { APP_BOOT: "fail" } }, async (farm) => {
      const [one, two] = await Promise.all([farm.get("/"), farm.get("/")]);
      for (const { exit } of [one, two]) {
        expect(exit.code).toBe(3);
        expect(exit.lastWords.join()).toContain("no database");
      }
      expect(farm.problems).toEqual([]);
    }));

  test("when stopped by a signal, is ended by the launch that waits too long", () =>
    withFarm({ spares: 0 }, async (farm) => {
      await farm.get("/");
      const first = farm.forks.pid;
      process.kill(first, "SIGSTOP");
      const waiting = farm.worker();
      const late = farm.forks.launch({
        onReady() {},
        onStopAsked() {},
        onBroken() {},
        onLine() {},
        onExit() {},
      });
      // One that is killed at once says nothing of the parent.
      const hasty = farm.forks.launch({ onReady() {}, onStopAsked() {}, onBroken() {}, onLine() {}, onExit() {} });
      hasty.kill();
      const began = performance.now();
      await waitFor(() => performance.now() - began > 1000, { what: "a second" });
      expect(stateOf(first)).toBe("T");
      late.kill();
      expect((await (await waiting).exited).signal).toBe("SIGKILL");
      expect((await farm.get("/")).exit.code).toBe(0);
      expect(farm.forks.pid).not.toBe(first);
    }));

  test("takes its children with it when Fairlead is gone", async () => {
    const farm = await openFarm();
    const busy = await farm.worker();
    busy.send("/sleep");
    await waitFor(() => busy.text() !== "", { what: "its first bytes" });
    await waitFor(() => farm.forks.ready === 2, { what: "two spares" });
    const pids = [farm.forks.pid, ...farm.children()];
    expect(pids.length).toBe(4);
    farm.door.close();
    for (const pid of pids) await gone(pid);
    await farm.forks.close();
  });

  test("ends when it is asked to, after its children", async () => {
    const farm = await openFarm();
    const taken = await farm.worker();
    const parent = farm.forks.pid;
    const closed = farm.close();
    await waitFor(() => farm.children().length === 1, { what: "the end of the spares" });
    taken.send("/");
    expect((await taken.exited).code).toBe(0);
    await closed;
    expect(stateOf(parent)).toBe(undefined);
    expect(farm.problems).toEqual([]);
  });

  test("warns of sockets that all children would share", () =>
    withFarm({ env: { APP_BOOT: "socket" } }, async (farm) => {
      await farm.get("/");
      expect(farm.logs.length).toBe(1);
      expect(farm.logs[0]).toContain("left 2 sockets open");
    }));

  test("says why it cannot fork", () =>
    withFarm({ argv: [php, "-d", "disable_functions=pcntl_fork", "-d", "display_errors=stderr"] }, async (farm) => {
      const { exit } = await farm.get("/");
      expect(exit.code).toBe(255);
      expect(exit.lastWords.join()).toContain("disable_functions has pcntl_fork");
    }));
});
