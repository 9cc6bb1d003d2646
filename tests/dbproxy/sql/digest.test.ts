import { expect, test } from "bun:test";
import { digestOf, digestText } from "../../../plugins/dbproxy/sql/digest.ts";
import type { SqlMode } from "../../../plugins/dbproxy/sql/statement.ts";
import { DIGESTS } from "./corpus.ts";

const MODE: SqlMode = {
  ansiQuotes: false,
  noBackslashEscapes: false,
  ignoreSpace: false,
  server: "mysql",
  version: 90704,
  unsafeCharset: false,
};
const bytes = (text: string) => new TextEncoder().encode(text);

test("texts are normalised as MySQL does", () => {
  for (const [sql, digest] of DIGESTS) expect([sql, digestText(bytes(sql), MODE)]).toEqual([sql, digest]);
});

test("equal texts have equal hashes, others have others", () => {
  const hashes = new Map<string, string>();
  for (const [sql, digest] of DIGESTS) {
    const { hash, text } = digestOf(bytes(sql), MODE);
    expect(text).toBe(digest);
    expect(hash).toMatch(/^[0-9a-f]{16}$/);
    expect(hashes.get(hash) ?? digest).toBe(digest);
    hashes.set(hash, digest);
  }
  expect(hashes.size).toBe(new Set(DIGESTS.map(([, digest]) => digest)).size);
  expect(digestOf(bytes("select  5 from `t` -- x"), MODE)).toBe(digestOf(bytes("SELECT 'y' FROM t"), MODE));
});

test("hints are comments to MariaDB, and what cannot be read ends a digest", () => {
  expect(digestText(bytes("select /*+ bka(t) */ 1"), { ...MODE, server: "mariadb", version: 101119 })).toBe("SELECT ?");
  expect(digestText(bytes("select a, 'b"), MODE)).toBe("SELECT `a` ,");
  const long = `select ${Array.from({ length: 300 }, (_, i) => `column${i}`).join()} from t`;
  const { length } = digestText(bytes(long), MODE);
  expect([length > 900, length < 1600]).toEqual([true, true]);
});
