/**
 * What the bulkheads' socket does, in figures: `bun bench/bulkhead/local/run.ts` (or `deno run -A`). Takes about 30 s.
 *
 * - `pair`: an acquire and its release from PHP, beside a bare exchange of as many bytes with the same server. As php-fpm and most
 *   workers run it; `forking`: where PHP can fork (pcntl), so that the client asks for its pid each time.
 * - `kill`: from SIGKILL of a holder to the grant of the next, to the end that the system shows by a bare connection of the holder's
 *   (`closed`), and what lies between these two (`ours`). `kill_large`: of a holder with 100 MB, whose memory the system takes apart
 *   before it closes its connections.
 * - `line`: 20 clients in a closed loop, 5 permits, 10 ms of work: the wait that 99 % stay below, against what a perfect line would
 *   have them wait with the times of work that were measured, (20 - 5) / 5 of their mean.
 * - `patience`: 20 clients, 5 permits, 50 ms of work, 200 ms of patience: how many are turned away.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { LocalStore } from "../../../plugins/bulkhead/local/local_store.ts";

const dir = mkdtempSync(join(tmpdir(), "fairlead-bench-bulkhead-"));
const path = join(dir, "b.sock"), echo = join(dir, "echo.sock");
const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const env = { ...process.env, FAIRLEAD_BULKHEAD_SOCKET: path, ECHO: echo };
const runtime = "Bun" in globalThis ? [here("server.ts")] : ["run", "-A", "--no-check", here("server.ts")];
const sleep = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

async function firstOutput(child: ChildProcess): Promise<string> {
  const [chunk] = await once(child.stdout!, "data");
  return String(chunk);
}

const quantile = (sorted: readonly number[], q: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))]!;
const ms = (value: number) => Number(value.toFixed(2));

async function pair(...settings: readonly string[]): Promise<unknown> {
  // With OPcache, as php-fpm and workers have it.
  const php = spawn("php", ["-d", "opcache.enable_cli=1", ...settings, here("pair.php")], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  return JSON.parse(await firstOutput(php));
}

async function kill(megabytes: number): Promise<unknown> {
  const store = new LocalStore({ path });
  let closed!: (at: number) => void;
  const bare = createServer((socket) => {
    socket.on("error", () => {}).on("close", () => closed(performance.now())).resume();
  }).listen(join(dir, "bare.sock"));
  const script = `require ${JSON.stringify(here("../../../php/src/autoload.php"))};
    $memory = str_repeat('x', ${megabytes} << 20); $bare = stream_socket_client('unix://${join(dir, "bare.sock")}');
    $slot = (new Fairlead\\Bulkhead\\Bulkhead('kill', 1))->acquire(); echo 'held'; sleep(60);`;
  const took: number[] = [], ended: number[] = [], ours: number[] = [];
  for (let i = 0; i < 30; i++) {
    const end = new Promise<number>((at) => closed = at);
    const holder = spawn("php", ["-n", "-d", "memory_limit=-1", "-r", script], {
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    await firstOutput(holder);
    const next = store.acquire({ name: "kill", limit: 1, weight: 1, leaseMs: 60_000, maxWaitMs: 60_000 });
    while ((await store.counts("kill"))!.queued === 0) await sleep(0);
    const start = performance.now();
    holder.kill("SIGKILL");
    const grant = await next;
    const granted = performance.now();
    const closedAt = await end;
    took.push(granted - start);
    ended.push(closedAt - start);
    ours.push(granted - closedAt);
    if (grant.granted) await grant.release();
  }
  store.close();
  bare.close();
  const figures = (values: number[]) => {
    values.sort((a, b) => a - b);
    return { best_ms: ms(values[0]!), median_ms: ms(quantile(values, 0.5)), worst_ms: ms(values.at(-1)!) };
  };
  return { ...figures(took), closed: figures(ended), ours: figures(ours) };
}

/** Runs 20 clients with a connection each for `rounds` of work each. */
async function clients(name: string, rounds: number, workMs: number, maxWaitMs: number) {
  const waits: number[] = [], works: number[] = [];
  let rejected = 0;
  const client = async (store: LocalStore) => {
    for (let round = 0; round < rounds; round++) {
      const start = performance.now();
      const answer = await store.acquire({ name, limit: 5, weight: 1, leaseMs: 5000, maxWaitMs });
      const began = performance.now();
      if (!answer.granted) {
        rejected++;
        continue;
      }
      // The first rounds fill the line.
      if (round >= 2) waits.push(began - start);
      await sleep(workMs);
      works.push(performance.now() - began);
      void answer.release();
    }
  };
  const stores = Array.from({ length: 20 }, () => new LocalStore({ path }));
  await Promise.all(stores.map((store) => store.counts(name)));
  await Promise.all(stores.map(client));
  for (const store of stores) store.close();
  waits.sort((a, b) => a - b);
  return { waits, rejected, work: works.reduce((sum, one) => sum + one, 0) / works.length };
}

async function line(): Promise<unknown> {
  const { waits, work } = await clients("line", 100, 10, 60_000);
  const ideal = work * 3;
  const [p50, p99] = [quantile(waits, 0.5), quantile(waits, 0.99)];
  const figures = { work_ms: ms(work), ideal_ms: ms(ideal), p50_ms: ms(p50), p99_ms: ms(p99) };
  return { ...figures, p50_to_ideal: ms(p50 / ideal), p99_to_ideal: ms(p99 / ideal) };
}

async function patience(): Promise<unknown> {
  const { rejected } = await clients("patience", 30, 50, 200);
  return { asked: 600, rejected };
}

const server = spawn(process.execPath, [...runtime, path, echo], { stdio: ["pipe", "pipe", "inherit"] });
try {
  await firstOutput(server);
  const parts: Readonly<Record<string, () => Promise<unknown>>> = {
    pair: () => pair("-d", "disable_functions=pcntl_fork"),
    forking: () => pair(),
    kill: () => kill(0),
    kill_large: () => kill(100),
    line,
    patience,
  };
  for (const [name, run] of Object.entries(parts)) console.log(name.padEnd(10), JSON.stringify(await run()));
} finally {
  server.stdin!.end();
  await once(server, "exit");
  rmSync(dir, { recursive: true, force: true });
}
