/**
 * Every kind of session state, set in every way: the next session on the same backend sees what a fresh one sees.
 *
 * Direct, each kind is set and looked at in one session, where it must show: a probe that cannot see its state would find
 * no leak either.
 *
 * @module
 */
import { describe, expect, test } from "bun:test";
import { forEachServer, type Way } from "../../support/db_matrix.ts";
import { counter, plain, session, visit } from "../../support/db_sessions.ts";
import { MysqlError, type RawClient } from "../../support/raw_client.ts";
import { allowSlowTests, waitFor, within } from "../../support/wait.ts";
import { stateInit, type StateKind, stateKinds } from "./state_kinds.ts";
import { type Route, routes } from "./state_routes.ts";

allowSlowTests(120_000);

/** What a session sees: the results of all probes, and the server's status flags. */
async function seen(client: RawClient, kind: StateKind): Promise<string> {
  const results = [];
  for (const sql of kind.probe) results.push(...plain(await client.query(sql)));
  const ping = await client.ping();
  return JSON.stringify([results, ping.kind === "ok" ? ping.status : ping]);
}

/** Whether the statements can go this way on this server; throws what is no refusal. */
async function possible(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (error instanceof MysqlError) return false;
    throw error;
  }
}

/** Sets the state in a session that ends by `end`; false when the statements cannot go this way. */
async function dirty(way: Way, kind: StateKind, route: Route, end: "quit" | "cut"): Promise<boolean> {
  if (route.ready && !await possible(() => route.ready!(way.database, kind.set))) return false;
  const client = await session(way.place);
  const went = await possible(() => route.go(client, kind.set, way.database));
  if (end === "quit") await client.quit();
  client.destroy();
  return went;
}

const options = {
  database: (kind: Way["kind"]) => ({ init: stateInit(kind) }),
  proxy: { size: 1 },
  strategies: ["smart", "always"] as const,
};

forEachServer("the leak battery", options, (way) => {
  for (const kind of stateKinds.filter(({ only = way.kind }) => only === way.kind)) {
    if (!way.proxied) {
      test(`${kind.name}: its probe sees it`, async () => {
        const fresh = await visit(way.place, (client) => seen(client, kind));
        const own = await visit(way.place, async (client) => {
          await client.run(...kind.set);
          return await seen(client, kind);
        });
        expect(own).not.toBe(fresh);
      });
      continue;
    }
    test(`${kind.name} does not leak`, async () => {
      const leaks: string[] = [];
      let ways = 0;
      for (const route of routes.filter(({ name }) => way.kind === "mysql" || name !== kind.crashes)) {
        for (const end of ["quit", "cut"] as const) {
          const fresh = await visit(way.database, (client) => seen(client, kind));
          if (await dirty(way, kind, route, end)) ways++;
          // Refused ones too: an error may come after the effect.
          const next = await visit(way.place, (client) => seen(client, kind));
          if (next !== fresh) leaks.push(`by ${route.name}, ended by ${end}: ${next} in place of ${fresh}`);
        }
      }
      expect(leaks).toEqual([]);
      expect(ways).toBeGreaterThanOrEqual(4);
    });

    test(`${kind.name} does not leak from a client killed in the middle of a query`, async () => {
      const fresh = await visit(way.database, (client) => seen(client, kind));
      const client = await session(way.place);
      await client.run(...kind.set);
      client.command(3, "SELECT SLEEP(300)");
      const sleeping = "SELECT COUNT(*) FROM information_schema.processlist WHERE info='SELECT SLEEP(300)'";
      await waitFor(async () => (await way.database.admin(sleeping))[0]![0] === "1", { what: "the query to run" });
      client.destroy();
      expect(await within(10_000, "The next session", visit(way.place, (next) => seen(next, kind)))).toBe(fresh);
    });
  }

  describe("statements of the binary protocol", () => {
    test("are closed with their session", async () => {
      const before = await counter(way.database, "Prepared_stmt_count");
      const client = await session(way.place);
      const first = await client.prepare("SELECT 1");
      await client.prepare("SELECT ?");
      expect(await counter(way.database, "Prepared_stmt_count")).toBe(before + 2);
      await client.quit();
      await using next = await session(way.place);
      const [answer] = await next.execute(first.id);
      expect(answer?.kind === "error" && answer.code).toBe(1243);
      // Direct, the server notices the end of the session by itself.
      await waitFor(async () => (await counter(way.database, "Prepared_stmt_count")) === before, {
        what: "the statements to be closed",
      });
    });
  });
});
