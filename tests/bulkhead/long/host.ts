/**
 * One host of the long test: clients that take permits, hold them for a moment, leave early, change their minds.
 *
 *     host.ts URL FILE SEED
 *
 * What was held goes to FILE, one `name weight from until` a line (ms of the wall clock). Figures go to standard output when it is told
 * to end (SIGTERM).
 *
 * @module
 */
import { appendFileSync } from "node:fs";
import process from "node:process";
import { dialRedis } from "../../../plugins/bulkhead/redis/dial.ts";
import { RedisStore } from "../../../plugins/bulkhead/redis/redis_store.ts";
import { seeded } from "../../support/cutting_relay.ts";
import { pause } from "../../support/wait.ts";
import { bulkheads, leaseMs, logName, prefix } from "./terms.ts";

const [url = "", file = "", seed = "1"] = process.argv.slice(2);
const random = seeded(Number(seed));
const figures: Record<string, number> = { grants: 0, lost: 0, overtaken: 0, late: 0 };
const wall = () => performance.timeOrigin + performance.now();
const add = (name: string) => figures[name] = (figures[name] ?? 0) + 1;

const store = new RedisStore({
  dial: dialRedis({ url, connectTimeout: 500 }),
  prefix,
  script: { log: logName },
  grace: 2000,
  tick: 200,
  commandTimeout: 1000,
  events: { lost: () => void add("lost"), overtaken: () => void add("overtaken") },
});

let lines = "";
let stopped = 0;
let seen = performance.now();
const flush = setInterval(() => {
  // A process that was stopped answers late, and is not to blame.
  const now = performance.now();
  if (now - seen > 500) stopped = now;
  seen = now;
  if (lines !== "") appendFileSync(file, lines);
  lines = "";
}, 50);

let ending = false;
process.on("SIGTERM", () => ending = true);

async function client(): Promise<void> {
  while (!ending) {
    const [name, limit] = bulkheads[Math.floor(random() * bulkheads.length)]!;
    const weight = 1 + Math.floor(random() * Math.min(3, limit));
    const leaving = random() < 0.1 ? new AbortController() : undefined;
    const maxWaitMs = random() < 0.1 ? 0 : random() < 0.1 ? 20 : 10_000;
    if (leaving) setTimeout(() => leaving.abort(), random() * 20);
    const asked = performance.now();
    const signal = leaving?.signal;
    const answer = await store.acquire({ name, limit, weight, leaseMs, maxWaitMs, ...(signal ? { signal } : {}) });
    const now = performance.now();
    if (now - asked > maxWaitMs + 2500 && stopped < asked) add("late");
    if (!answer.granted) {
      add(answer.reason);
      if (answer.reason === "unavailable") await pause(20);
      continue;
    }
    add("grants");
    const from = wall();
    let until = Infinity;
    // The moment from which it counts as lost, though the process may hear of it later.
    const { guard } = answer as unknown as { guard: number };
    answer.onLost(() => until = Math.min(wall(), performance.timeOrigin + Math.max(guard, now)));
    if (random() < 0.5) await pause(random() * 4);
    // After it was stopped, a process may end its work before its timers have told it of the loss.
    if (!answer.lost) until = wall();
    lines += `${name} ${weight} ${from} ${until}\n`;
    await answer.release();
  }
}

await store.start();
await Promise.all(Array.from({ length: 12 }, client));
await store.close();
clearInterval(flush);
appendFileSync(file, lines);
console.log(JSON.stringify({ ...figures, commands: store.commands }));
process.exit(0);
