import { expect, test } from "bun:test";
import * as fc from "fast-check";
import process from "node:process";
import { analyse } from "../../../plugins/dbproxy/sql/analyse.ts";
import { digestOf } from "../../../plugins/dbproxy/sql/digest.ts";
import type { SqlMode } from "../../../plugins/dbproxy/sql/statement.ts";

const servers = [["mysql", 80036], ["mysql", 90704], ["mariadb", 101119]] as const;
const modes: fc.Arbitrary<SqlMode> = fc.record({
  ansiQuotes: fc.boolean(),
  noBackslashEscapes: fc.boolean(),
  ignoreSpace: fc.boolean(),
  running: fc.constantFrom(...servers),
  unsafeCharset: fc.constant(false),
}).map(({ running: [server, version], ...mode }) => ({ ...mode, server, version }));
const bytes = (text: string) => new TextEncoder().encode(text);

const TOKENS =
  ("select from where t a , ( ) * = 1 'x' `q` @u @@v . ; := into for update lock in share mode get_lock last_insert_id count " +
    "f abs set names utf8mb4 use kill begin union table show variables insert values and or not as on join 1e5 0x1f .5 with explain")
    .split(" ");
const tokens = fc.array(fc.constantFrom(...TOKENS), { maxLength: 20 });
const HARMLESS = ["/* into @x */", "/**/", "-- get_lock('a')\n", "# ;\n", "/*!99999x into */"];

/** Each thing a verdict can be wrong about, as a number that is greater where it is worse. */
function severity(sql: string, mode: SqlMode): number[] {
  const found = analyse(bytes(sql), mode);
  return [found.residue === undefined ? 0 : 1, found.readsPrevious ? 1 : 0, found.readsConnectionId ? 1 : 0];
}

test("comments between tokens never make a verdict milder", () => {
  fc.assert(
    fc.property(
      tokens,
      fc.array(fc.constantFrom(...HARMLESS), { minLength: 21, maxLength: 21 }),
      modes,
      (list, comments, mode) => {
        const plain = severity(list.join(" "), mode);
        const commented = severity(list.map((token, i) => `${token} ${comments[i]} `).join(""), mode);
        plain.forEach((worse, i) => expect(commented[i]! >= worse).toBe(true));
      },
    ),
    { numRuns: 2000 },
  );
});

test("a string between tokens never makes a verdict milder", () => {
  fc.assert(
    fc.property(tokens, fc.nat(20), fc.stringMatching(/^[a-z;#@:=*/ -]*$/), modes, (list, place, text, mode) => {
      const at = Math.min(place, list.length);
      const with_ = (token: string) => [...list.slice(0, at), token, ...list.slice(at)].join(" ");
      expect(severity(with_(`'${text}'`), mode)).toEqual(severity(with_("'x'"), mode));
    }),
    { numRuns: 2000 },
  );
});

test("a statement that leaves something still does so behind and before others", () => {
  const leaving = fc.constantFrom(
    "select f(1)",
    "select @a := 1",
    "select 1 into @x",
    "do get_lock('a', 1)",
    "set role r",
  );
  fc.assert(
    fc.property(leaving, tokens, modes, (sql, list, mode) => {
      const other = list.filter((token) => token !== ";").join(" ");
      for (const text of [`${sql}; ${other}`, `select 1; ${sql}`, `/* c */ ${sql} -- c`]) {
        expect(severity(text, mode)[0]).toBe(1);
      }
    }),
    { numRuns: 500 },
  );
});

test("any bytes have a verdict and a digest", () => {
  const pieces = fc.constantFrom(
    ...TOKENS,
    ...HARMLESS,
    "/*",
    "*/",
    "/*!",
    "/*M!",
    "/*+",
    "'",
    '"',
    "`",
    "\\",
    "--",
    "\0",
    "é",
    "\x7f",
    "$",
    "{",
    "}",
  );
  const text = fc.array(pieces, { maxLength: 40 }).map((list) => bytes(list.join("")));
  fc.assert(
    fc.property(fc.oneof(text, fc.uint8Array({ maxLength: 200 })), modes, (sql, mode) => {
      const found = analyse(sql, mode);
      if (found.kind === "select" || found.kind === "empty") expect(found.residue).toBe(undefined);
      expect(digestOf(sql, mode).hash.length).toBe(16);
    }),
    { numRuns: 5000 },
  );
});

test("time grows with the text, not faster", () => {
  const mode: SqlMode = {
    ansiQuotes: false,
    noBackslashEscapes: false,
    ignoreSpace: false,
    server: "mysql",
    version: 90704,
    unsafeCharset: false,
  };
  for (
    const piece of [
      "(",
      "select ",
      "/*",
      "/*!99999 /*",
      "'",
      "a.",
      "@@x,",
      ";",
      "select 1;",
      "1,",
      "`a`,",
      "-- ",
      "{",
      "\xe9",
      "kill ",
      "set a=1,",
      "--1",
    ]
  ) {
    const run = (size: number) => {
      const sql = bytes(("select " + piece.repeat(Math.ceil(size / piece.length))).slice(0, size));
      let best = Infinity;
      for (let i = 0; i < 3; i++) {
        // Not what passes on the clock: others may work here, too.
        const { user } = process.cpuUsage();
        analyse(sql, mode);
        digestOf(sql, mode);
        best = Math.min(best, (process.cpuUsage().user - user) / 1000);
      }
      return best;
    };
    run(20_000);
    // 32 times the text: quadratic work would take 1024 times as long.
    const [small, large] = [run(20_000), run(640_000)];
    expect([piece, large < 300 * Math.max(small, 0.5)]).toEqual([piece, true]);
  }
});
