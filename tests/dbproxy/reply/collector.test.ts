import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { type Collected, ReplyCollector } from "../../../plugins/dbproxy/reply/collector.ts";
import { COM } from "../../../plugins/dbproxy/wire/commands.ts";
import { BACKEND, concat, encode, lenencString, type Ok, type Reply } from "./model.ts";

const ok: Ok = { affected: 0, insertId: 0, status: 2, warnings: 0, info: "", trackers: [] };
const decoded = { affectedRows: 0, insertId: 0, status: 2, warnings: 0, info: "", trackers: undefined };
const definition = (name: string) =>
  concat([...["def", "", "t", "t", name, name].map(lenencString), new Uint8Array([12, ...new Uint8Array(12)])]);
const reset: Reply = { command: COM.RESET_CONNECTION, shape: "results", results: [{ kind: "ok", ok }] };
const option: Reply = { command: COM.SET_OPTION, shape: "end", end: ok };
const refused: Reply = {
  command: COM.QUERY,
  shape: "results",
  results: [{ kind: "err", err: { code: 1193, state: "HY000", message: "Unknown system variable" } }],
};
const rows: Reply = {
  command: COM.QUERY,
  shape: "results",
  results: [{
    kind: "set",
    columns: [definition("name"), definition("value")],
    rows: [concat([lenencString("sql_mode"), lenencString("")]), concat([lenencString("x"), [0xfb]])],
    end: ok,
  }],
};
const due: Collected[] = [
  { ok: decoded },
  { ok: decoded },
  { err: { code: 1193, state: "HY000", message: "Unknown system variable" } },
  { ok: decoded, columns: ["name", "value"], rows: [["sql_mode", ""], ["x", null]] },
];

describe("replies to the proxy's own commands", () => {
  test("are collected in order, and the client's bytes behind them are left alone", () => {
    const list = [reset, option, refused, rows];
    const stream = concat([...list.map((reply) => encode(reply, BACKEND).bytes), [1, 2, 3]]);
    fc.assert(fc.property(fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1 }), (sizes) => {
      const collector = new ReplyCollector();
      const got: Collected[] = [];
      for (const { command } of list) collector.expect(command, (reply) => got.push(reply));
      expect(collector.waiting).toBe(4);
      let used = 0;
      for (let at = 0, i = 0; at < stream.length; i++) {
        const chunk = stream.slice(at, at + sizes[i % sizes.length]!);
        used += collector.push(chunk);
        at += chunk.length;
      }
      expect(used).toBe(stream.length - 3);
      expect(got).toEqual(due);
      expect(collector.waiting).toBe(0);
    }));
  });

  test("may be followed by another that a callback expects", () => {
    const collector = new ReplyCollector();
    const got: string[] = [];
    collector.expect(COM.RESET_CONNECTION, () => {
      got.push("first");
      collector.expect(COM.SET_OPTION, () => got.push("second"));
    });
    const stream = concat([encode(reset, BACKEND).bytes, encode(option, BACKEND).bytes]);
    expect(collector.push(stream)).toBe(stream.length);
    expect(got).toEqual(["first", "second"]);
  });

  test("are of several results the last one's", () => {
    const collector = new ReplyCollector();
    const got: Collected[] = [];
    collector.expect(COM.QUERY, (reply) => got.push(reply));
    const more = { ...ok, status: 10 };
    const both: Reply = {
      command: COM.QUERY,
      shape: "results",
      results: [{ kind: "set", columns: [definition("a")], rows: [lenencString("1")], end: more }, { kind: "ok", ok }],
    };
    collector.push(encode(both, BACKEND).bytes);
    expect(got).toEqual([{ ok: decoded }]);
  });

  test("are refused when they are longer than 1 MiB, whatever was promised", () => {
    for (const head of [[0xff, 0xff, 0xff, 1, 0], [1, 0, 0x10, 1, 0]]) {
      const collector = new ReplyCollector();
      collector.expect(COM.QUERY, () => {});
      expect(() => collector.push(new Uint8Array(head))).toThrow(/more than 1 MiB/);
    }
    const collector = new ReplyCollector();
    collector.expect(COM.QUERY, () => {});
    const long: Reply = {
      command: COM.QUERY,
      shape: "results",
      results: [{
        kind: "set",
        columns: [definition("a")],
        rows: Array<Uint8Array>(200).fill(lenencString("x".repeat(9_000))),
        end: ok,
      }],
    };
    expect(() => collector.push(encode(long, BACKEND).bytes)).toThrow(/more than 1 MiB/);
  });

  test("throw nothing but DB_PROTOCOL for bytes that make no sense", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(200), fc.nat(255), (noise, at, value) => {
        const stream = encode(rows, BACKEND).bytes;
        stream[at % stream.length] = value;
        for (const bytes of [noise, stream]) {
          const collector = new ReplyCollector();
          collector.expect(COM.QUERY, () => {});
          try {
            expect(collector.push(bytes) <= bytes.length).toBe(true);
          } catch (error) {
            expect((error as { code?: string }).code).toBe("DB_PROTOCOL");
          }
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
