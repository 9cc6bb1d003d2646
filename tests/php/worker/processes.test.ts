/** The pool over real processes: shell scripts that answer each line with itself. */
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import process from "node:process";
import type { Exchange } from "../../../core/exchange.ts";
import type { Script } from "../../../plugins/php/resolve.ts";
import type { ReplySink } from "../../../plugins/php/reply_sink.ts";
import type { Launch, Worker } from "../../../plugins/php/worker/handle.ts";
import { inspectProcess } from "../../../plugins/php/worker/inspect.ts";
import { lineSplitter } from "../../../plugins/php/fpm_log.ts";
import { WorkerPool } from "../../../plugins/php/worker/pool.ts";
import { type StartedProcess, startProcess } from "../../../plugins/php/worker/process.ts";
import type { WorkerReport } from "../../../plugins/php/worker/report.ts";
import { Heard } from "./world.ts";

const script = `
echo ready
while read line; do
  case "$line" in
    */crash) echo "it hurts" >&2; exit 3;;
    */child) sleep 1000 & ;;
    */sleep) sleep 1000;;
  esac
  echo "$line"; echo ready
done
echo "bye" >&2`;

/** Every process a launch has started. */
const started: number[] = [];

const launch: Launch = (events) => {
  let child: StartedProcess | undefined;
  let killed = false;
  let sink: ReplySink | undefined;
  const worker: Worker = {
    get pid() {
      return child?.pid ?? 0;
    },
    send(request, to) {
      sink = to;
      child!.stdin!.write(`${request.x.id}${request.x.target}\n`);
    },
    pause() {},
    resume() {},
    cancel() {},
    stop: () => child!.stdin!.end(),
    kill() {
      killed = true;
      child?.kill();
    },
  };
  startProcess({
    argv: ["/bin/sh", "-c", script],
    env: { PATH: process.env.PATH ?? "" },
    pipes: true,
    onLine: (text) => events.onLine(text),
    onExit: (exit) => events.onExit(exit),
  }).then((made) => {
    child = made;
    started.push(made.pid);
    made.stdout!.on(
      "data",
      lineSplitter((line) => {
        if (line === "ready") return events.onReady();
        sink!.onStdout(new TextEncoder().encode(line.split("/")[0]!));
        sink!.onEnd(0);
      }),
    );
    if (killed) made.kill();
  });
  return worker;
};

async function until(what: () => boolean): Promise<void> {
  for (let n = 0; !what(); n++) {
    if (n > 1000) throw new Error(`waited for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

let requests = 0;
/** One request, with its permit back. */
function ask(pool: WorkerPool, path: string, onPid?: (pid: number) => void): Promise<Heard> {
  const x = { id: `r${++requests}`, target: path, deadline: performance.now() + 20_000 } as Partial<
    Exchange
  > as Exchange;
  return new Promise((resolve, reject) => {
    const heard = new Heard(x.id, (text) => reject(new Error(text)));
    pool.wait({
      onLease(lease) {
        heard.onFinal = () => lease.done(() => resolve(heard));
        lease.send({ x, script: {} as Script, body: undefined }, heard);
        onPid?.(lease.pid);
      },
      onRefuse: reject,
    });
  });
}

test("real processes: crashes, stopped and killed ones, a reload, and nothing left at the end", async () => {
  const crashes: WorkerReport[] = [];
  const lines: string[] = [];
  const pool = new WorkerPool({
    launch,
    size: 3,
    inspect: inspectProcess,
    inspectEvery: 50,
    onCrash: (report) => crashes.push(report),
    onLine: (_pid, text) => lines.push(text),
  });
  pool.start();
  const answers = await Promise.all(Array.from({ length: 3 }, () => ask(pool, "/")));
  expect(answers.map((heard) => heard.text)).toEqual(answers.map((heard) => heard.id));
  expect(pool.rows().every((row) => row.rss! > 100_000)).toBe(true);

  const crash = await ask(pool, "/crash");
  expect([crash.error?.code, crash.text]).toEqual(["PHP_WORKER_DIED", ""]);
  await until(() => crashes.length === 1);
  expect(crashes.map(({ reason, exit, lastTarget }) => [reason, exit?.code, exit?.lastWords, lastTarget])).toEqual([
    ["died", 3, ["it hurts"], "/crash"],
  ]);

  const stopped = await ask(pool, "/sleep", (pid) => process.kill(pid, "SIGSTOP"));
  expect(stopped.error?.code).toBe("PHP_WORKER_STUCK");
  const killed = await ask(pool, "/sleep", (pid) => process.kill(pid, "SIGKILL"));
  expect(killed.error?.code).toBe("PHP_WORKER_DIED");
  await ask(pool, "/child");
  await until(() => pool.alive === 3);

  const before = pool.rows().map((row) => row.pid);
  await pool.reload(launch);
  await until(() => pool.processes === 3);
  expect(pool.rows().some((row) => before.includes(row.pid))).toBe(false);
  expect((await ask(pool, "/")).finals).toBe(1);

  await pool.close(true);
  expect(lines.filter((line) => line === "bye").length).toBe(6);
  expect(started.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]);
  expect(pool.restarts).toEqual({ died: 2, stuck: 1, reload: 3 });
});
