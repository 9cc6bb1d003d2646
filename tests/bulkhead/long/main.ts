/**
 * `npm run test:bulkhead [OPERATIONS [SERVER]]`: hosts that are killed, stopped and cut off, a Redis (and a Valkey, where
 * `TEST_VALKEY` names one) that loses its scripts, its data and its life, until so many operations (1,000,000 when absent) have been
 * done. What the script says it did and what the hosts say they held are checked: never more than the limit but for leases that were
 * reported lost, first come first served, no wait that is forgotten, nothing left in the end. `SERVER`, `redis` or `valkey`: on that
 * one alone.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { dialRedis } from "../../../plugins/bulkhead/redis/dial.ts";
import { RedisStore } from "../../../plugins/bulkhead/redis/redis_store.ts";
import { seeded } from "../../support/cutting_relay.ts";
import { pause, waitFor } from "../../support/wait.ts";
import { connectTo } from "../redis/rig.ts";
import { RedisServer, serverAbsent, type ServerKind } from "../redis/server.ts";
import { Judge, mostHeld } from "./judge.ts";
import { bulkheads, leaseMs, logName, prefix } from "./terms.ts";

const wanted = Number(process.argv[2] ?? 1_000_000);
const seed = Number(process.env["TEST_SEED"] ?? Date.now() % 1_000_000);
const hostCount = 4;

async function judgeServer(kind: ServerKind): Promise<number> {
  const random = seeded(seed);
  const dir = mkdtempSync(join(tmpdir(), "fairlead-long-"));
  const server = await RedisServer.start(kind);
  const judge = new Judge();
  const file = join(dir, "held");
  const figures: Record<string, number> = {};
  /** When Redis had lost data, and for one lease after that, more may be held: whoever held is told so. */
  const windows: [number, number][] = [];
  let spawned = 0;
  let client = await connectTo(server.url);
  client.on("error", () => {});

  function startHost(): { child: ChildProcess; output: () => string } {
    const args = [join(import.meta.dirname!, "host.ts"), server.url, file, String(seed + spawned++)];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    child.stdout!.on("data", (bytes: Uint8Array) => output += new TextDecoder().decode(bytes));
    return { child, output: () => output };
  }
  const hosts = Array.from({ length: hostCount }, startHost);
  // Also where this fails half way.
  process.on("exit", () => {
    for (const { child } of hosts) if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
  });

  type Entries = [id: string, fields: string[]][];
  const read = (entries: Entries) => {
    for (const [, fields] of entries) {
      const entry: Record<string, string> = {};
      for (let i = 0; i < fields.length; i += 2) entry[fields[i]!] = fields[i + 1]!;
      judge.read(entry);
    }
  };
  /** Takes what is in the log out of it; with `last`, atomically with what ends the data. */
  async function drain(last?: readonly string[]): Promise<void> {
    const multi = client.multi().addCommand(["XRANGE", logName, "-", "+"])
      .addCommand(last === undefined ? ["UNLINK", logName] : [...last]);
    const [entries] = await multi.exec() as unknown as [Entries];
    read(entries);
  }

  const chaos: Record<string, () => Promise<void>> = {
    async kill() {
      const index = Math.floor(random() * hostCount);
      process.kill(hosts[index]!.child.pid!, "SIGKILL");
      hosts[index] = startHost();
    },
    async stop() {
      const { pid } = hosts[Math.floor(random() * hostCount)]!.child;
      process.kill(pid!, "SIGSTOP");
      await pause(leaseMs * 1.6);
      process.kill(pid!, "SIGCONT");
    },
    async scripts() {
      await client.sendCommand(["SCRIPT", "FLUSH"]);
    },
    async data() {
      const now = Date.now();
      await drain(["FLUSHALL"]);
      judge.forget();
      windows.push([now - 5, Date.now() + leaseMs + 100]);
    },
    async connections() {
      await client.sendCommand(["CLIENT", "KILL", "TYPE", random() < 0.5 ? "normal" : "pubsub", "SKIPME", "yes"]);
    },
    async restart() {
      const now = Date.now();
      await server.kill();
      client.destroy();
      judge.forget();
      await server.start();
      client = await connectTo(server.url);
      client.on("error", () => {});
      windows.push([now - 5, Date.now() + leaseMs + 100]);
    },
  };

  const began = Date.now();
  let shown = began;
  let next = began + 3000;
  while (judge.entries < wanted) {
    await pause(50);
    await drain();
    if (Date.now() > next) {
      const names = Object.keys(chaos);
      const name = names[Math.floor(random() * names.length)]!;
      figures[`chaos ${name}`] = (figures[`chaos ${name}`] ?? 0) + 1;
      await chaos[name]!();
      next = Date.now() + 500 + random() * 3000;
    }
    if (Date.now() - shown > 15_000) {
      shown = Date.now();
      console.log(`${kind}: ${judge.entries} operations, ${judge.grants} grants, ${judge.faults.length} faults`);
    }
  }

  // In the end each wait has an answer, and nothing is held.
  for (const { child } of hosts) process.kill(child.pid!, "SIGTERM");
  await waitFor(() => hosts.every(({ child }) => child.exitCode !== null), { what: "hosts to end", timeout: 30_000 });
  for (const { output } of hosts) {
    for (const [name, value] of Object.entries<number>(JSON.parse(output()))) {
      figures[name] = (figures[name] ?? 0) + value;
    }
  }
  // What killed hosts held or waited for has ended, and goes when somebody comes.
  await pause(leaseMs);
  const last = new RedisStore({ dial: dialRedis({ url: server.url }), prefix, script: { log: logName } });
  for (const [name, limit] of bulkheads) {
    const answer = await last.acquire({ name, limit, weight: limit, leaseMs, maxWaitMs: 2000 });
    if (answer.granted) await answer.release();
    else judge.faults.push(`${name}: not all permits have come back`);
  }
  await last.close();
  await drain();
  for (const [name] of bulkheads) {
    const m = `${prefix}{${name}}:m`;
    const left = await Promise.all(["h", "q", "d", "w"].map((key) => client.exists(`${prefix}{${name}}:${key}`)));
    if (left.some((count) => count > 0)) {
      judge.faults.push(`${name}: left ${left}, ${JSON.stringify(await client.hGetAll(m))}`);
    }
  }
  const { most, above, holds } = mostHeld(readFileSync(file, "utf8").split("\n"), new Map(bulkheads), windows);
  await client.close();
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
  const seconds = (Date.now() - began) / 1000;
  const faults = [...judge.faults, ...above.slice(0, 20)];
  if ((figures["late"] ?? 0) > 0) faults.push(`${figures["late"]} waits were answered late`);
  if ((figures["overtaken"] ?? 0) > 0) faults.push(`${figures["overtaken"]} were overtaken`);
  console.log(`${kind}, seed ${seed}: ${judge.entries} operations in ${seconds.toFixed(0)} s`);
  const { grants, queued, lost, adopted } = judge;
  console.log(
    JSON.stringify({ grants, queued, lost, adopted, holds, most: Object.fromEntries(most), hosts: figures }, null, 1),
  );
  for (const fault of faults) console.log(`FAULT ${fault}`);
  return faults.length;
}

let faults = 0;
for (const kind of ["redis", "valkey"] satisfies ServerKind[]) {
  if ((process.argv[3] ?? kind) !== kind) continue;
  const absent = serverAbsent(kind);
  if (absent === undefined) faults += await judgeServer(kind);
  else console.log(`${kind} skipped: ${absent}`);
}
console.log(faults === 0 ? "no faults" : `${faults} faults`);
process.exit(faults === 0 ? 0 : 1);
