/**
 * Query attributes, which MySQL has and MariaDB has not: the server gets them, and the statement behind them is counted.
 *
 * @module
 */
import { expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { forEachServer } from "../../support/db_matrix.ts";
import { session } from "../../support/db_sessions.ts";
import { FLAGS, type RawClient } from "../../support/raw_client.ts";
import { allowSlowTests, waitFor } from "../../support/wait.ts";

allowSlowTests(60_000);

const component = "file://component_query_attributes";

interface Report {
  readonly databases: readonly { readonly queries: readonly { readonly text: string; readonly count: number }[] }[];
}

/** A query with one attribute of type string. */
async function withAttribute(client: RawClient, name: string, value: string, sql: string) {
  const field = (text: string) => Buffer.concat([Buffer.of(text.length), Buffer.from(text)]);
  const head = Buffer.concat([Buffer.of(1, 1, 0, 1, 0xfe, 0), field(name), field(value)]);
  client.command(3, Buffer.concat([head, Buffer.from(sql)]));
  const [result] = await client.results();
  return result?.kind === "rows" ? result.rows[0]?.[0]?.toString() : result;
}

forEachServer(
  "query attributes",
  { database: { init: [`INSTALL COMPONENT '${component}'`] }, kinds: ["mysql"] },
  (way) => {
    test("reach the server, and are gone with their statement", async () => {
      await using client = await session(way.place, { flags: FLAGS.QUERY_ATTRIBUTES });
      const sql = "SELECT mysql_query_attribute_string('trace')";
      expect(await withAttribute(client, "trace", "abc", sql)).toBe("abc");
      expect(await client.one(sql)).toBe(null);
    });

    if (!way.proxied) return;

    test("hide no statement from the statistics", async () => {
      await using client = await session(way.place, { flags: FLAGS.QUERY_ATTRIBUTES });
      expect(await withAttribute(client, "trace", "abc", "SELECT 4711 AS counted")).toBe("4711");
      await waitFor(async () => {
        const reply = await fetch(`${way.proxy.server.adminUrl}/-/db/queries?limit=100`);
        const { databases } = await reply.json() as Report;
        return databases[0]!.queries.some(({ text, count }) => text === "SELECT ? AS `counted`" && count === 1);
      }, { what: "the digest" });
    });
  },
);
