import { expect, test } from "bun:test";
import { keysOf } from "../../../plugins/bulkhead/redis/keys.ts";
import { acquireArgs } from "../../../plugins/bulkhead/redis/operations.ts";
import { mainScript } from "../../../plugins/bulkhead/redis/script.ts";
import { allowSlowTests } from "../../support/wait.ts";
import { Judge } from "../long/judge.ts";
import { connectTo } from "./rig.ts";
import { RedisServer, serverAbsent } from "./server.ts";

allowSlowTests(60_000);

if (serverAbsent("redis") === undefined) {
  test("the script's log tells of everybody who left the line, also of more at a time than one call ends", async () => {
    const server = await RedisServer.start();
    const client = await connectTo(server.url);
    try {
      const log = "t:log", keys = keysOf("t:", "b");
      const script = mainScript({ prefix: "t:", injectClock: true, log, batch: 2 });
      const acquire = (id: string, at: number, leaseMs = 100) =>
        client.sendCommand([
          "EVAL",
          script,
          String(keys.length),
          ...keys,
          ...acquireArgs("h", {
            ...{ id, weight: 1, leaseMs, waitMs: 1000, maxQueue: Infinity, limit: 1, declare: true, again: false },
            ...{ ticket: 0, silenceMs: 50, join: false },
          }),
          String(at),
        ]);
      // All are silent for too long while the first holds; then somebody comes.
      for (let i = 0; i < 4; i++) await acquire(`h.${i}`, 1_000_000 + i);
      expect((await acquire("h.last", 1_001_000) as unknown as number[])[0]).toBe(1);
      const judge = new Judge();
      const entries = await client.sendCommand(["XRANGE", log, "-", "+"]) as unknown as [string, string[]][];
      for (const [, fields] of entries) {
        judge.read(Object.fromEntries(fields.flatMap((name, i) => i % 2 === 0 ? [[name, fields[i + 1]!]] : [])));
      }
      expect(judge.faults).toEqual([]);
      expect(judge.grants).toBe(2);
    } finally {
      client.destroy();
      await server.stop();
    }
  });

  test("fences rise though the data is lost between two grants of one millisecond", async () => {
    const server = await RedisServer.start();
    const client = await connectTo(server.url);
    try {
      const keys = keysOf("t:", "b");
      const acquire = (id: string) =>
        client.sendCommand([
          "EVAL",
          mainScript({ prefix: "t:" }),
          String(keys.length),
          ...keys,
          ...acquireArgs("h", {
            ...{ id, weight: 1, leaseMs: 100, waitMs: 0, maxQueue: Infinity, limit: 2, declare: true, again: false },
            ...{ ticket: 0, silenceMs: 50, join: false },
          }),
        ]) as unknown as Promise<[number, string]>;
      for (let i = 0; i < 50; i++) {
        const [a, b, , c] = await Promise.all([acquire("h.a"), acquire("h.b"), client.flushAll(), acquire("h.c")]);
        const fences = [a, b, c].map(([, fence]) => Number(fence));
        expect(fences).toEqual([...new Set(fences)].sort((x, y) => x - y));
        await client.flushAll();
      }
    } finally {
      client.destroy();
      await server.stop();
    }
  });
}
