/**
 * What a fork costs: requests a second of two processes, one for each core here, without HTTP.
 * Run it with `bun tests/php/fork/support/measure.ts [seconds] [rounds] [/work]`.
 *
 * @module
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { waitFor } from "../../../support/wait.ts";
import { forkLaunch } from "../../../../plugins/php/fork/launch.ts";
import type { Link } from "../../../../plugins/php/fork/link.ts";
import type { ReplySink } from "../../../../plugins/php/reply_sink.ts";
import type { WorkerRequest } from "../../../../plugins/php/worker/handle.ts";
import { startProcess } from "../../../../plugins/php/worker/process.ts";
import { askFpm } from "../../support/fcgi_once.ts";
import { openDoor } from "./door.ts";
import { childrenOf, php } from "./farm.ts";

const seconds = Number(process.argv[2] ?? 2);
const rounds = Number(process.argv[3] ?? 3);
const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const request = (target: string) =>
  ({ x: {}, body: undefined, script: { documentUri: target } }) as unknown as WorkerRequest;
const sink = (onEnd: () => void): ReplySink => ({
  onHead() {},
  onBody() {},
  onInformational() {},
  onStdout() {},
  onStderr() {},
  onFail() {},
  onEnd,
});

interface Result {
  readonly rate: number;
  readonly p50: number;
  /** CPU time (ms) of PHP for a request. */
  readonly cpu: number;
  /** Of requests that found a spare. */
  readonly calm?: number;
}

/** `lane` answers one request after another until told to stop. */
async function rate(
  pids: readonly number[],
  lane: (done: (ms: number) => void, over: () => boolean) => Promise<void>,
): Promise<Result> {
  const times: number[] = [];
  const before = cpuOf(pids);
  const began = performance.now();
  const over = () => performance.now() - began > seconds * 1000;
  await Promise.all([1, 2].map(() => lane((ms) => times.push(ms), over)));
  times.sort((a, b) => a - b);
  return {
    rate: times.length / ((performance.now() - began) / 1000),
    p50: times[times.length >> 1]!,
    cpu: (cpuOf(pids) - before) / times.length,
  };
}

/** CPU time (ms) of these processes and of their children that have ended. */
function cpuOf(pids: readonly number[]): number {
  let ticks = 0;
  for (const pid of pids) {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    for (let i = 11; i < 15; i++) ticks += Number(fields[i]);
  }
  return ticks * 10;
}

async function forks(target: string, env: Record<string, string>): Promise<Result> {
  const door = await openDoor();
  const launch = forkLaunch({
    door,
    spares: 3,
    process: {
      argv: [php, "-d", "opcache.enable_cli=1", "-d", "memory_limit=1G", here("measure.php")],
      env: { PATH: process.env["PATH"]!, ...env },
    },
    onLine: (line) => console.error(line),
    onLog() {},
    onProblem: (error) => console.error(error),
  });
  const one = () =>
    new Promise<number>((done) => {
      const began = performance.now();
      const worker = launch.launch({
        onReady: () => worker.send(request(target), sink(() => done(performance.now() - began))),
        onStopAsked() {},
        onBroken: (error) => console.error(error),
        onLine() {},
        onExit() {},
      });
    });
  await one();
  const result = await rate([launch.pid], async (done, over) => {
    while (!over()) done(await one());
  });
  const calm: number[] = [];
  for (let i = 0; i < 10; i++) {
    await waitFor(() => launch.ready === 3, { what: "the spares", every: 50 });
    calm.push(await one());
  }
  calm.sort((a, b) => a - b);
  await launch.close();
  door.close();
  return { ...result, calm: calm[5]! };
}

async function loop(target: string, env: Record<string, string>): Promise<Result> {
  const door = await openDoor();
  const links: Link[] = [];
  const answered: (() => void)[] = [];
  const processes = [];
  for (let i = 0; i < 2; i++) {
    const token = String(i).padStart(32, "0");
    door.expect(token, (arrival) => {
      links[i] = arrival.asChild({ onBroken() {}, onLine() {}, onClosed() {}, onAnswered: () => answered[i]?.() });
    });
    processes.push(
      await startProcess({
        argv: [php, "-d", "opcache.enable_cli=1", "-d", "memory_limit=1G", here("measure.php")],
        env: { ...env, MEASURE: "loop", FAIRLEAD_SOCKET: door.path, FAIRLEAD_TOKEN: token },
        onLine: (line) => console.error(line),
        onExit() {},
      }),
    );
  }
  await waitFor(() => links[0] && links[1], { what: "two workers" });
  let next = 0;
  const result = await rate(processes.map(({ pid }) => pid), async (done, over) => {
    const at = next++;
    while (!over()) {
      const began = performance.now();
      await new Promise<void>((end) => {
        answered[at] = end;
        links[at]!.send(request(target), sink(() => {}));
      });
      done(performance.now() - began);
    }
  });
  for (const each of processes) each.kill();
  door.close();
  return result;
}

async function fpm(target: string, env: Record<string, string>): Promise<Result> {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-measure-"));
  const socket = join(dir, "s");
  writeFileSync(
    join(dir, "c"),
    `[global]\ndaemonize = no\nerror_log = /dev/null\n[www]\nuser = root\ngroup = root\nlisten = ${socket}\npm = static\n` +
      `pm.max_children = 2\nphp_admin_value[memory_limit] = 1G\n`,
  );
  const script = join(dir, "s.php");
  writeFileSync(
    script,
    `<?php require ${
      JSON.stringify(here("measure_boot.php"))
    }; echo $_SERVER['REQUEST_URI'] === '/work' ? work() : 'hello';`,
  );
  const master = spawn("/usr/sbin/php-fpm8.2", ["-F", "-R", "-y", join(dir, "c")], { stdio: "ignore" });
  await waitFor(() => existsSync(socket), { what: "php-fpm" });
  const vars = [["SCRIPT_FILENAME", script], ["REQUEST_METHOD", "GET"], ["REQUEST_URI", target], [
    "APP_MB",
    env["APP_MB"]!,
  ]] as const;
  await askFpm(socket, vars);
  const result = await rate(childrenOf(master.pid!), async (done, over) => {
    while (!over()) {
      const began = performance.now();
      await askFpm(socket, vars);
      done(performance.now() - began);
    }
  });
  master.kill("SIGTERM");
  await new Promise((ended) => master.once("exit", ended));
  rmSync(dir, { recursive: true });
  return result;
}

const middle = (all: readonly number[]) => all.toSorted((a, b) => a - b)[all.length >> 1]!;

console.log(readFileSync("/proc/loadavg", "utf8").trim());
for (const target of process.argv[4] === undefined ? ["/hello"] : [process.argv[4]]) {
  for (const heap of ["2", "20", "76"]) {
    const env = { APP_MB: heap };
    const arms: [string, () => Promise<Result>][] = [
      ["fork", () => forks(target, env)],
      ["fork, destructors", () => forks(target, { ...env, MEASURE_DESTRUCTORS: "1" })],
      ["persistent", () => loop(target, env)],
      ["php-fpm, boots each time", () => fpm(target, env)],
    ];
    // One after the other in each round: what else the machine does is spread over all.
    const results = arms.map((): Result[] => []);
    for (let round = 0; round < rounds; round++) {
      for (const [i, [, run]] of arms.entries()) results[i]!.push(await run());
    }
    for (const [i, [name]] of arms.entries()) {
      const all = results[i]!;
      const of = (read: (result: Result) => number) => middle(all.map(read));
      const alone = all[0]?.calm === undefined ? "" : `, with a spare ${of(({ calm }) => calm ?? 0).toFixed(2)} ms`;
      console.log(
        `${target} ${heap} MB  ${name}: ${of(({ rate }) => rate).toFixed(0)}/s, p50 ${
          of(({ p50 }) => p50).toFixed(2)
        } ms, ` +
          `CPU ${of(({ cpu }) => cpu).toFixed(2)} ms${alone}`,
      );
    }
  }
}
