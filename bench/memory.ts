/**
 * How much memory a server needs while clients do nothing but wait: idle, with keep-alive connections, with a queue.
 * PHP is not counted: it is the same behind every server.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { resolve } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Arm, Running } from "./http/arms/arm.ts";
import { Field } from "./http/field.ts";
import { checkIdentity, processes } from "./http/identity.ts";
import { ARMS } from "./http/options.ts";
import { HOLD_PATH } from "./http/pages.ts";
import { machine } from "./support/machine.ts";
import { benchmark, say, writeJson } from "./support/main.ts";
import { COMMON, number, OPTIONAL, pickSome, text } from "./support/options.ts";
import { probe } from "./support/probe.ts";
import { type Memory, memory } from "./support/procfs.ts";
import { table } from "./support/table.ts";

const USAGE = `bun bench/memory.ts [options]

  --arms A,B          ${ARMS.map((arm) => arm.name).join(", ")} (default nginx,fairlead-bun)
  --idle N            idle keep-alive connections (default 1000)
  --queued N          requests that wait for PHP (default 10000)
  --children N        PHP children (default 2)
  --php-fpm FILE, --fairlead DIR, --toml TEXT, --json FILE, --keep: as for bench/http/run.ts
`;

interface Options {
  readonly arms: readonly Arm[];
  readonly idle: number;
  readonly queued: number;
  readonly children: number;
  readonly phpFpm: string | undefined;
  readonly fairlead: string;
  readonly toml: string;
  readonly json: string | undefined;
  readonly keep: boolean;
}

function parseOptions(args: readonly string[]): Options | "help" {
  const { values: v } = parseArgs({
    args: [...args],
    options: {
      ...COMMON,
      arms: text("nginx,fairlead-bun"),
      idle: text("1000"),
      queued: text("10000"),
      children: text("2"),
      "php-fpm": OPTIONAL,
      toml: text(""),
    },
  });
  if (v.help) return "help";
  return {
    arms: pickSome("arm", ARMS, v.arms),
    idle: number("idle", v.idle),
    queued: number("queued", v.queued),
    children: number("children", v.children),
    phpFpm: v["php-fpm"],
    fairlead: resolve(v.fairlead),
    toml: v.toml,
    json: v.json,
    keep: v.keep,
  };
}

interface Step extends Memory {
  readonly arm: string;
  readonly step: string;
  /** Connections that stand and have not been answered, or have been answered once and idle. */
  readonly connections: number;
  /** Answers by status, and "closed" for connections that the server closed. */
  readonly answers: Readonly<Record<string, number>>;
}

class Clients {
  readonly answers: Record<string, number> = {};
  readonly #sockets = new Set<Socket>();
  #sent = 0;
  #answered = 0;

  get open(): number {
    return this.#sockets.size;
  }

  get answered(): number {
    return this.#answered;
  }

  get sent(): number {
    return this.#sent;
  }

  /** Opens `count` connections, 200 at a time, and sends one request on each. */
  async openAll(port: number, path: string, count: number): Promise<void> {
    for (let opened = 0; opened < count; opened += 200) {
      const batch = Math.min(200, count - opened);
      await Promise.all(Array.from({ length: batch }, () => this.#one(port, path)));
    }
  }

  #one(port: number, path: string): Promise<void> {
    return new Promise((resolve) => {
      const socket = connect({ host: "127.0.0.1", port });
      const count = (what: string) => this.answers[what] = (this.answers[what] ?? 0) + 1;
      this.#sockets.add(socket);
      socket.on("connect", () => {
        socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`, () => {
          this.#sent++;
          resolve();
        });
      });
      socket.once("data", (chunk: Buffer) => {
        this.#answered++;
        count(chunk.toString("latin1", 9, 12));
      });
      socket.on("error", () => {});
      socket.on("close", () => {
        if (this.#sockets.delete(socket)) count("closed");
        resolve();
      });
    });
  }

  close(): void {
    const sockets = [...this.#sockets];
    this.#sockets.clear();
    for (const socket of sockets) socket.destroy();
  }
}

/** The most connections this process may open: its own limit on files, less what it needs itself. */
function descriptorLimit(): number {
  const soft = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
  return soft === undefined ? Infinity : Number(soft) - 200;
}

/** Memory once it has stopped moving: two readings, half a second apart, within 1 %. */
async function settled(pids: () => readonly number[]): Promise<Memory> {
  let last = memory(pids());
  for (let i = 0; i < 20; i++) {
    await sleep(500);
    const now = memory(pids());
    if (Math.abs(now.rss - last.rss) <= last.rss / 100) return now;
    last = now;
  }
  return last;
}

async function weigh(
  name: string,
  arm: Running,
  field: Field,
  o: Pick<Options, "idle" | "queued" | "children">,
  report: (step: Step) => void,
): Promise<void> {
  const server = () => processes(arm, field.phpFpm).server;
  const look = async (step: string, clients: Clients) => {
    const connections = clients.open;
    report({ arm: name, step, ...await settled(server), connections, answers: { ...clients.answers } });
  };
  await checkIdentity(arm, field.phpFpm, o.children);
  await look("started", new Clients());
  for (let i = 0; i < 500; i++) await probe({ port: arm.port, path: "/tiny.php" });
  await look("after 500 requests", new Clients());

  const idle = new Clients();
  await idle.openAll(arm.port, "/tiny.php", o.idle);
  await waitUntil(() => idle.answered + (idle.answers["closed"] ?? 0) >= o.idle);
  await look(`${o.idle} idle keep-alive connections`, idle);
  idle.close();

  const queue = new Clients();
  await queue.openAll(arm.port, HOLD_PATH, o.queued);
  await look(`${o.queued} requests sent, ${o.children} children held`, queue);
  queue.close();
  await sleep(2_000);
  await look("2 s after those clients have left", new Clients());
}

async function waitUntil(check: () => boolean): Promise<void> {
  for (const end = performance.now() + 30_000; !check();) {
    if (performance.now() > end) throw new Error("The clients were not all answered within 30 s");
    await sleep(20);
  }
}

const mib = (bytes: number) => (bytes / 2 ** 20).toFixed(1);

async function run(o: Options): Promise<number> {
  const { idle, queued, children } = o;
  const most = descriptorLimit();
  if (Math.max(o.idle, o.queued) > most) {
    throw new Error(`This shell may open ${most} connections; raise it with ulimit -n, or ask for fewer`);
  }
  const steps: Step[] = [];
  for (const arm of o.arms) {
    // One server at a time: what waits in one must not be swapped out or slowed by another.
    const field = new Field({ ...o, arms: [arm], sites: ["scripts"], wordpress: undefined, say });
    try {
      await field.start();
      await weigh(arm.name, field.get(arm, "scripts"), field, o, (step) => {
        steps.push(step);
        say(`  ${step.step}: ${mib(step.rss)} MiB`);
      });
    } finally {
      await field.stop();
    }
    writeJson(o.json, { format: 1, machine: machine(field.phpFpm, o.fairlead), idle, queued, children, steps }, 2);
  }
  const rows = steps.map((step) => [
    step.arm,
    step.step,
    String(step.processes),
    mib(step.rss),
    mib(step.pss),
    String(step.connections),
    Object.entries(step.answers).map(([what, n]) => `${what}: ${n}`).join(", "),
  ]);
  const head = ["arm", "moment", "processes", "RSS MiB", "PSS MiB", "connections", "answers"];
  process.stdout.write(`${table(head, rows)}\n`);
  return 0;
}

benchmark(USAGE, parseOptions, run);
