import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { type DigestRow, DigestTable, type Sample } from "../../../plugins/dbproxy/stats/digests.ts";
import { Times } from "../../../plugins/dbproxy/stats/times.ts";

const sample = (hash: string, fields: Partial<Sample> = {}): Sample => ({
  hash,
  text: () => `SELECT ${hash}`,
  schema: "shop",
  ms: 1,
  rows: 1,
  bytes: 10,
  error: false,
  ...fields,
});

const top = (table: DigestTable, by: Parameters<DigestTable["top"]>[0]["by"] = "count") =>
  table.top({ by, limit: Infinity });

describe("DigestTable", () => {
  test("adds up what each digest did", () => {
    let now = 1000;
    const table = new DigestTable({ capacity: 10, now: () => now });
    table.record(sample("a", { ms: 1, rows: 2, bytes: 30, requestId: "r1" }));
    now = 2000;
    table.record(sample("a", { ms: 4, rows: 3, bytes: 40, error: true, requestId: "r2" }));
    now = 3000;
    table.record(sample("a", { ms: 1, rows: 0, bytes: 5, requestId: "r3" }));
    const [row] = top(table);
    expect(row).toMatchObject({
      hash: "a",
      text: "SELECT a",
      schema: "shop",
      count: 3,
      errors: 1,
      rows: 5,
      bytes: 75,
      time: 6,
      mean: 2,
      max: 4,
      first_seen: 1000,
      last_seen: 3000,
      slowest_request: "r2",
    });
  });

  test("keeps one text in two schemas apart", () => {
    const table = new DigestTable({ capacity: 10 });
    for (const schema of ["a", "b", "b", ""]) table.record(sample("x", { schema }));
    expect(top(table).map(({ schema, count }) => `${schema}:${count}`).sort()).toEqual([":1", "a:1", "b:2"]);
  });

  test("asks for a text once for each digest, and shortens it", () => {
    const table = new DigestTable({ capacity: 10 });
    let asked = 0;
    const text = () => (asked++, "x".repeat(5000));
    for (let i = 0; i < 5; i++) table.record(sample("long", { text }));
    expect([asked, top(table)[0]?.text.length]).toEqual([1, 2001]);
  });

  test("orders by each figure, and limits", () => {
    const table = new DigestTable({ capacity: 10 });
    for (let i = 0; i < 9; i++) table.record(sample("many", { ms: 1, rows: 0 }));
    table.record(sample("slow", { ms: 50, rows: 1 }));
    for (let i = 0; i < 3; i++) table.record(sample("long", { ms: 20, rows: 2 }));
    for (let i = 0; i < 2; i++) table.record(sample("bad", { ms: 2, rows: 10, error: true }));
    const first = (["time", "count", "errors", "rows", "mean", "max"] as const)
      .map((by) => `${by}: ${table.top({ by, limit: 1 }).map(({ hash }) => hash)}`);
    expect(first).toEqual(["time: long", "count: many", "errors: bad", "rows: bad", "mean: slow", "max: slow"]);
    expect(table.top({ by: "time", limit: 2 }).map(({ hash }) => hash)).toEqual(["long", "slow"]);
  });

  test("pushes out the least recently seen, and goes on counting it in (other)", () => {
    const table = new DigestTable({ capacity: 2 });
    for (const hash of ["a", "b", "a", "a", "c", "c"]) table.record(sample(hash, { ms: hash === "b" ? 9 : 1 }));
    expect(top(table).map(({ text, count }) => [text, count])).toEqual([["SELECT a", 3], ["SELECT c", 2], [
      "(other)",
      1,
    ]]);
    expect(table.top({ by: "max", limit: 1 }).map(({ text }) => text)).toEqual([expect.any(String), "(other)"]);
    expect(table.total()).toMatchObject({ count: 6, time: 14, max: 9 });
  });

  test("forgets everything", () => {
    let now = 1;
    const table = new DigestTable({ capacity: 1, now: () => now });
    for (const hash of ["a", "b"]) table.record(sample(hash));
    now = 7;
    table.reset();
    expect([table.size, table.since, top(table), table.total().count]).toEqual([0, 7, [], 0]);
    table.record(sample("c"));
    expect(top(table).map(({ hash }) => hash)).toEqual(["c"]);
  });

  test("agrees with a plain model, whatever is recorded", () => {
    const samples = fc.array(
      fc.record({
        hash: fc.constantFrom("a", "b", "c", "d", "e", "f"),
        schema: fc.constantFrom("", "s", "t"),
        ms: fc.integer({ min: 0, max: 1000 }),
        rows: fc.nat(100),
        bytes: fc.nat(10_000),
        error: fc.boolean(),
      }),
      { maxLength: 200, size: "max" },
    );
    fc.assert(fc.property(samples, fc.integer({ min: 1, max: 20 }), (samples, capacity) => {
      const table = new DigestTable({ capacity });
      const recent: string[] = [];
      for (const each of samples) {
        table.record(sample(each.hash, each));
        const key = `${each.schema}/${each.hash}`;
        if (recent.includes(key)) recent.splice(recent.indexOf(key), 1);
        recent.unshift(key);
        recent.length = Math.min(recent.length, capacity);
      }
      const rows = top(table);
      const kept = rows.filter(({ hash }) => hash !== "");
      expect(kept.map(({ schema, hash }) => `${schema}/${hash}`).sort()).toEqual([...recent].sort());
      expect(table.size).toBe(recent.length);
      const sum = (key: keyof DigestRow & ("count" | "errors" | "rows" | "bytes" | "time")) =>
        rows.reduce((all, row) => all + row[key], 0);
      const total = table.total();
      const expected = {
        count: samples.length,
        errors: samples.filter(({ error }) => error).length,
        rows: samples.reduce((all, { rows }) => all + rows, 0),
        bytes: samples.reduce((all, { bytes }) => all + bytes, 0),
        time: samples.reduce((all, { ms }) => all + ms, 0),
      };
      expect({ count: sum("count"), errors: sum("errors"), rows: sum("rows"), bytes: sum("bytes"), time: sum("time") })
        .toEqual(expected);
      expect(total).toMatchObject(expected);
      for (const { p50, p95, p99, max } of rows) {
        expect(p50 <= p95 && p95 <= p99 && p99 <= max).toBe(true);
      }
    }));
  });
});

describe("Times", () => {
  test("estimates quantiles within a factor of two of the true ones", () => {
    const times = fc.array(fc.double({ min: 0.002, max: 1e6, noNaN: true }), {
      minLength: 1,
      maxLength: 300,
      size: "max",
    });
    fc.assert(fc.property(times, fc.constantFrom(0.5, 0.95, 0.99), (times, q) => {
      const table = new Times();
      times.forEach((ms) => table.add(ms));
      const sorted = times.toSorted((a, b) => a - b);
      const exact = sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)]!;
      const estimate = table.quantile(q, sorted.at(-1)!);
      expect(estimate).toBeGreaterThanOrEqual(exact / 2.01);
      expect(estimate).toBeLessThanOrEqual(exact * 2.01);
    }));
  });

  test("knows no time as 0, and takes the shortest and the longest", () => {
    expect(new Times().quantile(0.5, 0)).toBe(0);
    const times = new Times();
    for (const ms of [0, 1e-9, 1e12]) times.add(ms);
    expect(times.quantile(0.99, 1e12)).toBeLessThanOrEqual(1e12);
    expect(times.quantile(0.99, 1e12)).toBeGreaterThan(1e6);
    expect(times.quantile(0.1, 1e12)).toBeLessThanOrEqual(0.001);
  });
});
