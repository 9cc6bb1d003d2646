/**
 * Clients that take a permit, hold it and come again, at two hosts of one process. Run by itself it prints the figures of five runs:
 *
 *     bun tests/bulkhead/redis/closed_loop.ts [CLIENTS LIMIT HOLD_MS]
 *
 * @module
 */
import process from "node:process";
import { dialRedis } from "../../../plugins/bulkhead/redis/dial.ts";
import { RedisStore } from "../../../plugins/bulkhead/redis/redis_store.ts";
import { pause } from "../../support/wait.ts";
import { RedisServer } from "./server.ts";

/** One permit, with moments in ms. */
export interface Turn {
  readonly asked: number;
  readonly from: number;
  readonly until: number;
  readonly fence: number;
}

/** In order of asking. */
export async function closedLoop(clients: number, limit: number, holdMs: number, rounds: number): Promise<Turn[]> {
  const server = await RedisServer.start();
  const hosts = Array.from({ length: 2 }, () => new RedisStore({ dial: dialRedis({ url: server.url }) }));
  const turns: Turn[] = [];
  await Promise.all(hosts.map((host) => host.start()));
  await Promise.all(Array.from({ length: clients }, async (_, i) => {
    for (let round = 0; round < rounds; round++) {
      const asked = performance.now();
      const answer = await hosts[i % 2]!.acquire({ name: "b", limit, weight: 1, leaseMs: 5000, maxWaitMs: 20_000 });
      if (!answer.granted) throw new Error(`Expected a grant, got ${answer.reason}`);
      const from = performance.now();
      await pause(holdMs);
      turns.push({ asked, from, until: performance.now(), fence: answer.fence });
      await answer.release();
    }
  }));
  await Promise.all(hosts.map((host) => host.close()));
  await server.stop();
  return turns.sort((a, b) => a.asked - b.asked);
}

export function percentile(list: readonly number[], p: number): number {
  return [...list].sort((a, b) => a - b)[Math.floor((list.length - 1) * p)]!;
}

if (import.meta.main) {
  const [clients = 20, limit = 5, holdMs = 10] = process.argv.slice(2).map(Number);
  for (let run = 0; run < 5; run++) {
    // The first come all at once, to code that has not run before.
    const turns = (await closedLoop(clients, limit, holdMs, 90)).slice(clients * 15, -clients * 2);
    const waits = turns.map(({ asked, from }) => from - asked);
    const hold = turns.reduce((sum, { from, until }) => sum + until - from, 0) / turns.length;
    const ideal = hold * (clients - limit) / limit;
    const [p50, p99] = [percentile(waits, 0.5), percentile(waits, 0.99)];
    const shown = [p50, p99, ideal, hold].map((ms) => ms.toFixed(1));
    console.log(
      `p50 ${shown[0]} p99 ${shown[1]} ideal ${shown[2]} (hold ${shown[3]} ms): p99/ideal ${(p99 / ideal).toFixed(2)}`,
    );
  }
}
