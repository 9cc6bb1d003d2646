import { afterAll } from "bun:test";
import { Limits } from "../../../plugins/bulkhead/limits.ts";
import { dialRedis } from "../../../plugins/bulkhead/redis/dial.ts";
import { RedisStore } from "../../../plugins/bulkhead/redis/redis_store.ts";
import { allowSlowTests, pause } from "../../support/wait.ts";
import { conformance, type StoreUnderTest } from "../conformance.ts";
import { RedisServer, serverAbsent, type ServerKind } from "./server.ts";

allowSlowTests(30_000);

for (const kind of ["redis", "valkey"] satisfies ServerKind[]) {
  if (serverAbsent(kind) !== undefined) continue;
  let server: Promise<RedisServer> | undefined;
  let count = 0;
  afterAll(async () => (await server)?.stop());

  conformance(`Redis store, ${kind}`, async (setup): Promise<StoreUnderTest> => {
    const { url } = await (server ??= RedisServer.start(kind));
    const [lost, overtaken]: [string[], string[]] = [[], []];
    const options = {
      dial: dialRedis({ url }),
      prefix: `t${count++}:`,
      limits: new Limits(
        Object.entries(setup.limits ?? {}).map(([name, maxConcurrent]) => [name, { maxConcurrent }] as const),
      ),
      events: { lost: (name: string) => void lost.push(name), overtaken: (name: string) => void overtaken.push(name) },
      tick: 100,
    };
    const [store, other] = [new RedisStore(options), new RedisStore(options)];
    await Promise.all([store.start(), other.start()]);
    return {
      store,
      other,
      advance: pause,
      lost,
      overtaken,
      close: async () => {
        await Promise.all([store.close(), other.close()]);
      },
    };
  }, { vanishMs: 450, deadlocks: true, slackMs: 60 });
}
