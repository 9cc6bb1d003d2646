import { describe, expect, test } from "bun:test";
import { SlowLog } from "../../../plugins/dbproxy/stats/slow_log.ts";

/** A slow log whose second ends when told to. */
function slowLog(options: { thresholdMs?: number; perSecond?: number } = {}) {
  const lines: unknown[][] = [];
  let end: (() => void) | undefined;
  const log = new SlowLog({
    log: (...line) => void lines.push(line),
    db: "shop",
    thresholdMs: options.thresholdMs ?? 100,
    perSecond: options.perSecond ?? 2,
    later: (ms, run) => {
      expect([ms, end]).toEqual([1000, undefined]);
      end = () => {
        end = undefined;
        run();
      };
      return () => end = undefined;
    },
  });
  const see = (ms: number, fields = {}) =>
    log.see({
      hash: "9a1f",
      text: () => "SELECT ?",
      schema: "shop",
      ms,
      rows: 3,
      bytes: 70,
      error: false,
      ...fields,
    });
  return { log, lines, see, endSecond: () => end!(), running: () => end !== undefined };
}

describe("SlowLog", () => {
  test("writes one line for a slow statement, and none for a quick one", () => {
    const { lines, see, running } = slowLog();
    expect(see(99.9)).toBe(false);
    expect(running()).toBe(false);
    expect(see(100.04, { requestId: "r1", error: true })).toBe(true);
    expect(lines).toEqual([[
      "warn",
      "slow query: SELECT ?",
      { db: "shop", digest: "9a1f", ms: 100, rows: 3, bytes: 70, schema: "shop", id: "r1", error: true },
    ]]);
  });

  test("shortens the text, but never to half a character", () => {
    const { lines, see } = slowLog();
    see(200, { text: () => "x".repeat(499) + "😀".repeat(9) });
    expect(lines[0]?.[1]).toBe(`slow query: ${"x".repeat(499)}…`);
  });

  test("limits its lines, and says how many it left out", () => {
    const { lines, see, endSecond } = slowLog();
    for (let i = 0; i < 7; i++) expect(see(200)).toBe(true);
    expect(lines).toHaveLength(2);
    endSecond();
    expect(lines[2]).toEqual(["warn", "5 more slow queries were not logged", { db: "shop", dropped: 5 }]);
    see(200);
    endSecond();
    expect(lines).toHaveLength(4);
  });

  test("says at its end what is still unsaid, and stops its clock", () => {
    const { log, lines, see, running } = slowLog({ perSecond: 1 });
    see(200);
    see(200);
    log.close();
    expect([lines.length, running()]).toEqual([2, false]);
    log.close();
    expect(lines).toHaveLength(2);
  });

  test("is off at 0", () => {
    const { lines, see } = slowLog({ thresholdMs: 0 });
    expect(see(1e9)).toBe(false);
    expect(lines).toEqual([]);
  });
});
