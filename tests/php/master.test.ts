import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { findPhpFpm, type PhpFpm } from "../../plugins/php/find.ts";
import { type FpmEvent, type FpmMaster, type FpmOptions, startFpm } from "../../plugins/php/master.ts";
import { parentOf, tiedToUs } from "../../plugins/php/processes.ts";
import { removeStaleFolders } from "../../plugins/php/private_folder.ts";
import { fpmFolders, isRoot, makeRuntimeDir, poolUser } from "../../plugins/php/runtime_dir.ts";
import { type Answer, askFpm, getVars } from "./support/fcgi_once.ts";

let dir: string;
let php: PhpFpm;
let events: FpmEvent[];
let masters: FpmMaster[];

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "fl-"));
  chmodSync(dir, 0o755);
  php ??= await findPhpFpm();
  events = [];
  masters = [];
});

afterEach(async () => {
  await Promise.all(masters.map((master) => master.stop({ graceful: false })));
  rmSync(dir, { recursive: true, force: true });
});

async function start(options: Partial<FpmOptions> = {}): Promise<FpmMaster> {
  const master = await startFpm({
    php,
    children: 2,
    env: { PATH: "/usr/bin:/bin" },
    tempDir: dir,
    onEvent: (event) => void events.push(event),
    backoffMs: () => 10,
    ...options,
  });
  masters.push(master);
  return master;
}

function script(name: string, code: string): string {
  writeFileSync(join(dir, name), `<?php ${code}`);
  return join(dir, name);
}

const run = (master: FpmMaster, name: string, code: string): Promise<Answer> =>
  askFpm(master.socket, getVars(script(name, code)));

const childPid = async (master: FpmMaster): Promise<number> =>
  Number((await askFpm(master.socket, getVars(master.greeting))).body);

async function until<T>(what: string, condition: () => T | undefined | false): Promise<T> {
  const end = performance.now() + 10_000;
  for (;;) {
    const value = condition();
    if (value !== undefined && value !== false) return value as T;
    if (performance.now() > end) throw new Error(`not within 10 s: ${what}; ${JSON.stringify(events)}`);
    await new Promise((next) => setTimeout(next, 5));
  }
}

const event = <K extends FpmEvent["kind"]>(kind: K) =>
  events.filter((one): one is Extract<FpmEvent, { kind: K }> => one.kind === kind);

/** Whether the process runs: a zombie that its own init has not fetched yet does not. */
function alive(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

async function failure(work: Promise<unknown>): Promise<{ code: string; message: string }> {
  return await work.then(() => ({ code: "none", message: "" }), (error) => error);
}

/** The private folders left in the test's own. */
const folders = () => readdirSync(dir).filter((name) => name.startsWith("fairlead-fpm-"));

describe("startFpm", () => {
  test("serves on a private socket, and stop leaves nothing", async () => {
    const master = await start();
    expect(master.problem).toBe(undefined);
    const pid = await childPid(master);
    expect(parentOf(pid)).toBe(master.pid);
    expect(statSync(master.socket).mode & 0o777).toBe(0o600);
    expect(statSync(master.runtimeDir).mode & 0o777).toBe(isRoot() ? 0o711 : 0o700);
    expect(statSync(join(master.runtimeDir, "fpm.conf")).mode & 0o777).toBe(0o600);
    const masterPid = master.pid ?? 0;
    await master.stop();
    expect([alive(pid), alive(masterPid), existsSync(`/proc/${masterPid}`)]).toEqual([false, false, false]);
    expect(folders()).toEqual([]);
    expect([master.pid, master.problem]).toEqual([undefined, "stopped"]);
    expect(event("lost")).toEqual([]);
  });

  test("runs scripts as the pool's user, never as root", async () => {
    const master = await start();
    const user = (await run(master, "u.php", "echo fileowner('/proc/self') . ':' . getenv('USER');")).body;
    if (isRoot()) expect(user).toMatch(new RegExp(`^[1-9]\\d*:${poolUser().user}$`));
    else expect(user.split(":")[0]).toBe(String(process.getuid?.()));
  });

  test("sets exactly the values given", async () => {
    const nasty = `'"\\;#=[x]{}()!|&~^ \${HOME} $x %é ''`;
    const names = ["user_agent", "highlight.string", "unserialize_callback_func", "arg_separator.output"];
    const values = [nasty, "", "no", "''"];
    const master = await start({
      ini: Object.fromEntries(names.map((name, at) => [name, values[at] ?? ""])),
      adminIni: { "memory_limit": "77M", "opcache.max_accelerated_files": 4001, "open_basedir": dir },
    });
    const code = `header('X-A: b'); echo json_encode([array_map('ini_get', json_decode('${JSON.stringify(names)}')),` +
      `ini_set('user_agent', 'x') !== false, ini_set('memory_limit', '99M'), ini_get('memory_limit'),` +
      `ini_get('opcache.max_accelerated_files'), ini_get('display_errors'), opcache_get_status(false)['opcache_enabled']]);`;
    const answer = await run(master, "ini.php", code);
    expect(JSON.parse(answer.body)).toEqual([values, true, false, "77M", "4001", "0", true]);
    expect(answer.head).not.toContain("X-Powered-By");
    expect(await childPid(master)).toBeGreaterThan(1);
    expect(event("log").filter((line) => line.level !== "notice")).toEqual([]);
  });

  test("gives PHP the environment given, and no other", async () => {
    const env = {
      A: "$HOME 'x'\nsecond line",
      NOTIFY_SOCKET: "/x",
      FPM_SOCKETS: "/y=3",
      LISTEN_FDS: "1",
      B: undefined,
    };
    const master = await start({ env });
    const seen = JSON.parse((await run(master, "env.php", "echo json_encode(getenv());")).body);
    expect(seen.A).toBe(env.A);
    for (const name of ["NOTIFY_SOCKET", "FPM_SOCKETS", "LISTEN_FDS", "B", "PATH"]) {
      expect(seen).not.toHaveProperty([name]);
    }
    expect((await failure(start({ env: { "A=B": "x" } }))).code).toBe("PHP_CONFIG");
    expect((await failure(start({ env: { A: "a\0b" } }))).code).toBe("PHP_CONFIG");
  });

  test("answers for its status while every child is busy", async () => {
    const master = await start({ children: 1 });
    if (master.statusSocket === undefined) return expect(php.versionId).toBeLessThan(80_000);
    const slow = run(
      master,
      "slow.php",
      `touch('${dir}/busy'); while (!file_exists('${dir}/go')) usleep(1000); echo 'ok';`,
    );
    chmodSync(dir, 0o777);
    await until("the script runs", () => existsSync(join(dir, "busy")));
    const status = await askFpm(master.statusSocket, [
      ["SCRIPT_FILENAME", "/status"],
      ["SCRIPT_NAME", "/status"],
      ["REQUEST_METHOD", "GET"],
      ["QUERY_STRING", "json"],
    ]);
    expect(JSON.parse(status.body)["active processes"]).toBe(1);
    writeFileSync(join(dir, "go"), "");
    expect((await slow).body).toBe("ok");
  });

  test("tells what scripts write and what PHP reports, by child", async () => {
    const master = await start({ catchOutput: true });
    const code = "file_put_contents('php://stderr', \"my log\\n\"); error_log('reported'); echo getmypid();";
    const answer = await run(master, "log.php", code);
    expect(answer.stderr).toContain("PHP message: reported");
    await until("both lines", () => event("child-output").length === 2);
    const pid = Number(answer.body);
    expect(event("child-output")).toEqual([
      { kind: "child-output", pid, message: "my log", php: false },
      { kind: "child-output", pid, message: "reported", php: true },
    ]);
  });

  test("kills a child of its own and nothing else", async () => {
    const master = await start({ children: 1 });
    const stranger = spawn("sleep", ["100"]);
    const gone = new Promise((done) => stranger.once("exit", done));
    const others = [process.pid, process.ppid, 1, 0, -1, master.pid ?? 0, stranger.pid ?? 0, 2 ** 31, NaN, 1.5];
    expect(others.map((pid) => master.killChild(pid))).toEqual(others.map(() => false));
    expect(alive(stranger.pid ?? 0)).toBe(true);
    stranger.kill();
    await gone;

    const slow = run(master, "loop.php", `touch('${dir}/looping'); while (true);`);
    chmodSync(dir, 0o777);
    await until("the script runs", () => existsSync(join(dir, "looping")));
    const status = readdirSync("/proc").map(Number).filter((pid) => pid > 0 && parentOf(pid) === master.pid);
    const victim = status.find((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("pool www")) ?? 0;
    expect(master.killChild(victim)).toBe(true);
    expect((await slow).ended).toBe(false);
    const [exit] = await until("the exit is told", () => event("child-exited").length === 1 && event("child-exited"));
    expect([exit?.pid, exit?.signal, exit?.code]).toEqual([victim, "SIGKILL", undefined]);
    expect(await childPid(master)).not.toBe(victim);
    expect(master.killChild(victim)).toBe(false);
  });

  test("replaces a master that dies, on the same socket, without leaving its children", async () => {
    const master = await start();
    const [first, child] = [master.pid ?? 0, await childPid(master)];
    process.kill(first, "SIGKILL");
    await until("the next is ready", () => event("ready").length === 2);
    expect(event("lost")).toEqual([{ kind: "lost", reason: "php-fpm ended by SIGKILL", retryMs: 10 }]);
    expect(event("ready")[1]).toEqual({ kind: "ready", pid: master.pid ?? 0, again: true });
    expect(master.problem).toBe(undefined);
    await until("the old child is gone", () => !alive(child));
    expect(parentOf(await childPid(master))).toBe(master.pid);
    expect(master.pid).not.toBe(first);
  });

  test("tries again with growing patience while it cannot, and says why", async () => {
    const master = await start({ backoffMs: (failures) => failures });
    const config = join(master.runtimeDir, "fpm.conf");
    const good = readFileSync(config, "utf8");
    writeFileSync(config, good + "nonsense = 1\n");
    process.kill(master.pid ?? 0, "SIGKILL");
    await until("three failures", () => event("lost").length >= 3);
    expect(event("lost").slice(0, 3).map((one) => one.retryMs)).toEqual([1, 2, 3]);
    expect(event("lost")[2]?.reason).toContain("unknown entry 'nonsense'");
    expect(master.problem).toContain("unknown entry 'nonsense'");
    expect([master.pid, master.killChild(process.pid)]).toEqual([undefined, false]);
    writeFileSync(config, good);
    await until("it is back", () => master.problem === undefined);
    expect(await childPid(master)).toBeGreaterThan(1);
  });

  test("can be stopped while it is between two masters", async () => {
    const master = await start({ backoffMs: () => 60_000 });
    process.kill(master.pid ?? 0, "SIGKILL");
    await until("it is lost", () => event("lost").length === 1);
    await Promise.all([master.stop(), master.stop()]);
    expect(folders()).toEqual([]);
  });

  test("fails with php-fpm's own words, and leaves nothing", async () => {
    const cases: [Partial<FpmOptions>, string, RegExp][] = [
      [{ php: { ...php, path: "/no/php-fpm" } }, "PHP_START", /\/no\/php-fpm/],
      [{ php: { ...php, path: "/bin/false" } }, "PHP_START", /ended with code 1$/],
      [{ ini: { user_agent: "a\nb" } }, "PHP_CONFIG", /user_agent/],
      [{ children: 0 }, "PHP_CONFIG", /children/],
      [{ tempDir: join(dir, "none") }, "PHP_START", /private folder/],
      [{ tempDir: join(dir, "no", "x".repeat(100)) }, "PHP_START", /private folder/],
    ];
    if (isRoot()) cases.push([{ user: "no-such-user" }, "PHP_START", /cannot get uid for user 'no-such-user'/]);
    for (const [options, code, message] of cases) {
      const error = await failure(start(options));
      expect(error.code).toBe(code);
      expect(error.message).toMatch(message);
    }
    expect(folders()).toEqual([]);
  });

  test("gives up on a program that never answers, and ends it", async () => {
    const fake = join(dir, "fake");
    writeFileSync(fake, `#!/bin/sh\necho $$ > ${dir}/pid\nsleep 1000\n`, { mode: 0o755 });
    const error = await failure(start({ php: { ...php, path: fake }, startTimeoutMs: 300 }));
    expect(error.message).toContain("no answer on its socket in 300 ms");
    expect(alive(Number(readFileSync(join(dir, "pid"), "utf8")))).toBe(false);
    expect(folders()).toEqual([]);
  });
});

describe("stop", () => {
  // No sleep in it: a signal would end that early.
  const slow = (ms: number) =>
    `touch('${dir}/running'); $end = microtime(true) + ${ms / 1000}; while (microtime(true) < $end); echo 'whole';`;

  async function running(master: FpmMaster, ms: number): Promise<{ answer: Promise<Answer> }> {
    chmodSync(dir, 0o777);
    const answer = run(master, "slow.php", slow(ms));
    await until("the script runs", () => existsSync(join(dir, "running")));
    return { answer };
  }

  test("lets a request end", async () => {
    const master = await start();
    const { answer } = await running(master, 400);
    await master.stop();
    expect(await answer).toMatchObject({ body: "whole", ended: true });
    expect(folders()).toEqual([]);
  });

  test("does not wait past its deadline", async () => {
    const master = await start();
    const { answer } = await running(master, 20_000);
    const began = performance.now();
    await master.stop({ deadlineMs: 100 });
    expect(performance.now() - began).toBeLessThan(5_000);
    expect((await answer).ended).toBe(false);
  });

  test("at once when asked to", async () => {
    const master = await start();
    const { answer } = await running(master, 20_000);
    const began = performance.now();
    await master.stop({ graceful: false });
    expect(performance.now() - began).toBeLessThan(5_000);
    expect((await answer).ended).toBe(false);
  });

  test("of the server by SIGKILL takes php-fpm with it", async () => {
    if ((await tiedToUs()).length === 0) return;
    const program = fileURLToPath(new URL("./support/hold_fpm.ts", import.meta.url));
    const flags = process.versions["deno"] === undefined ? [] : ["run", "-A", "--no-check"];
    const server = spawn(process.execPath, [...flags, program, dir], { stdio: ["ignore", "pipe", "ignore"] });
    try {
      const pid = await new Promise<number>((done, fail) => {
        server.stdout.on("data", (text) => done(Number(/started (\d+)/.exec(String(text))?.[1])));
        server.once("exit", () => fail(new Error("it did not start")));
      });
      const children = () => readdirSync("/proc").map(Number).filter((one) => one > 0 && parentOf(one) === pid);
      const born = await until("both children are there", () => children().length === 2 && children());
      server.kill("SIGKILL");
      await until("php-fpm is gone", () => ![pid, ...born].some(alive));
    } finally {
      server.kill("SIGKILL");
    }
  });
});

describe("poolUser", () => {
  test("is www-data, or nobody in its own group", () => {
    expect(poolUser("root:x:0\nwww-data:x:33\n", "www-data:x:33:\n")).toEqual({ user: "www-data", group: "www-data" });
    expect(poolUser("root:x:0\nnot-www-data:x:33\n", "nogroup:x:1:\n")).toEqual({ user: "nobody", group: "nogroup" });
    expect(poolUser("", "nobody:x:1:\n")).toEqual({ user: "nobody", group: "nobody" });
  });
});

describe("removeStaleFolders", () => {
  test("removes what a killed server left, and nothing of one that lives", async () => {
    const master = await start();
    const dead = spawn("true");
    await new Promise((done) => dead.once("exit", done));
    const stale = join(dir, `fairlead-fpm-${dead.pid}-abc`);
    const kept = [`fairlead-fpm-${process.pid}-abc`, `fairlead-fpm-${dead.pid}-..x`, "fairlead-fpm-x", "other"];
    const used = join(dir, `fairlead-fpm-${dead.pid}-used`);
    for (const path of [stale, used, ...kept.map((name) => join(dir, name))]) mkdirSync(path);
    writeFileSync(join(stale, "fpm.conf"), "");
    symlinkSync(master.socket, join(used, "fpm.sock"));
    symlinkSync(master.runtimeDir, join(dir, `fairlead-fpm-${dead.pid}-link`));
    const before = readdirSync(dir).length;
    await removeStaleFolders(fpmFolders, dir);
    expect(readdirSync(dir).length).toBe(before);
    await removeStaleFolders(fpmFolders, dir, Date.now() + 61_000);
    expect(existsSync(stale)).toBe(false);
    expect(readdirSync(dir).length).toBe(before - 1);
    expect(await childPid(master)).toBeGreaterThan(1);
  });
});

describe("makeRuntimeDir", () => {
  test("refuses a folder too deep for a socket", () => {
    const deep = mkdtempSync(join(dir, "x".repeat(90)));
    expect(() => makeRuntimeDir(false, deep)).toThrow(/too long; set TMPDIR/);
    expect(readdirSync(deep)).toEqual([]);
  });
});
