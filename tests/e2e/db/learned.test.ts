import { expect, test } from "bun:test";
import { forEachServer } from "../../support/db_matrix.ts";
import { php } from "../../support/php_client.ts";
import { allowSlowTests, waitFor } from "../../support/wait.ts";

allowSlowTests(60_000);

// WordPress' own: MySQL warns of it.
const mode = "NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";

// Over one connection: each session comes upon what those before it have left.
forEachServer("what SETs are known to do", { proxy: { size: 1 } }, (way) => {
  /** What a session sees that sets what every session sets, and then runs one statement. */
  const session = (then: string) =>
    php(
      way.place,
      `$m = my();
       $m->query("SET NAMES utf8mb4");
       $m->query("SET SESSION sql_mode='${mode}'");
       $warned = $m->warning_count;
       return [$warned, $m->query("${then}")->fetch_all(), $m->query("SELECT @@sql_mode")->fetch_all()];`,
    );

  test("is the same for the first session and for those after it, warnings too", async () => {
    const warned = way.kind === "mysql" ? 1 : 0;
    for (let i = 0; i < 3; i++) {
      const seen = await session("SHOW WARNINGS") as [number, string[][], string[][]];
      expect([seen[0], seen[1].length, seen[1][0]?.[1], seen[2]]).toEqual([
        warned,
        warned,
        warned === 1 ? "3135" : undefined,
        [[mode]],
      ]);
      expect(await session("SELECT 1")).toEqual([warned, [["1"]], [[mode]]]);
    }
  });

  test.skipIf(!way.proxied)("costs the server nothing any more", async () => {
    // What is known is asked anew after some seconds, which may fall into any five sessions, but not into all.
    await waitFor(async () => {
      const before = await counted();
      for (let i = 0; i < 5; i++) await session("SELECT 1");
      const cost = await counted() - before;
      if (cost < 3) return true;
      throw new Error(`${cost} SETs by five sessions`);
    }, { what: "sessions that cost nothing", timeout: 30_000, every: 0 });

    async function counted(): Promise<number> {
      return Number(
        await way.database.admin("SHOW GLOBAL STATUS LIKE 'Com_set_option'").then((rows) => rows.at(-1)?.at(-1)),
      );
    }
  });
});
