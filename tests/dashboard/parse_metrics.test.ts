import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { parseMetrics } from "../../plugins/dashboard/figures/parse_metrics.ts";
import { Registry } from "../../plugins/metrics/registry.ts";

/** Text with what the format must escape well represented. */
const text = fc.oneof(
  fc.string({ unit: fc.constantFrom("\\", '"', "\n", "n", ",", "}", "{", "=", " ", "#", "é", "😀", "\r", "\u2028") }),
  fc.string({ unit: "grapheme" }),
);

const labelsOf = (text: string) => [...parseMetrics(text).samples("a")[0]?.labels ?? []];

describe("parseMetrics", () => {
  test("reads what a scrape consists of", () => {
    const metrics = parseMetrics(
      '# HELP a Help\n# TYPE a gauge\na{x="1",y="two"} 3.5\na{x="2"} -1e-3 1395066363000\n\nb 7\nc_bucket{le="+Inf"} +Inf\n',
    );
    expect(metrics.unread).toBe(0);
    expect([...metrics.names]).toEqual(["a", "b", "c_bucket"]);
    expect(metrics.samples("a").map(({ value }) => value)).toEqual([3.5, -0.001]);
    expect(metrics.value("a", { x: "1", y: "two" })).toBe(3.5);
    expect(metrics.value("a")).toBe(3.499);
    expect(metrics.value("a", { x: "3" })).toBeUndefined();
    expect(metrics.value("b")).toBe(7);
    expect(metrics.value("c_bucket")).toBe(Infinity);
    expect(metrics.valuesOf("a", "x")).toEqual(["1", "2"]);
    expect(metrics.valuesOf("a", "y")).toEqual(["two"]);
  });

  test("takes white space and a last comma where the format does", () => {
    expect(labelsOf(' \ta { x = "1" , y="2", } \t 1\r\n')).toEqual([["x", "1"], ["y", "2"]]);
    expect(labelsOf("a{} 1")).toEqual([]);
    expect(parseMetrics("a{} 1").value("a")).toBe(1);
  });

  test("undoes escapes", () => {
    expect(labelsOf(String.raw`a{x="\\n\n\"\\"} 1`)).toEqual([["x", '\\n\n"\\']]);
  });

  test("leaves out and counts what is no sample", () => {
    const bad = [
      "a",
      "a{",
      'a{x="1"',
      'a{x="1} 1',
      "a{x=1} 1",
      "a 0x10",
      "a 1 2 3",
      "1a 1",
      'a{x="1"y="2"} 1 x',
      "a  ",
      "a one",
    ];
    const metrics = parseMetrics([...bad, 'a{x="1",x="2"} 1', "good 1"].join("\n"));
    expect(metrics.unread).toBe(bad.length + 1);
    expect([...metrics.names]).toEqual(["good"]);
  });

  test("a label named like a part of every object is a label", () => {
    expect(labelsOf('a{__proto__="x",constructor="y"} 1')).toEqual([["__proto__", "x"], ["constructor", "y"]]);
  });

  test("whatever a registry writes comes back", () => {
    fc.assert(fc.property(fc.array(fc.tuple(text, text, fc.double()), { maxLength: 20 }), (samples) => {
      const wanted = new Map(
        samples.map(([x, y, value]) => [JSON.stringify([x.toWellFormed(), y.toWellFormed()]), value]),
      );
      const registry = new Registry();
      registry.gauges(
        "a",
        "Help",
        ["x", "y"],
        () => [...wanted].map(([labels, value]) => [JSON.parse(labels), value] as const),
      );
      const metrics = parseMetrics(registry.expose());
      expect(metrics.unread).toBe(0);
      const read = metrics.samples("a").map(({ labels, value }) =>
        [JSON.stringify([labels.get("x"), labels.get("y")]), value] as const
      );
      expect(read.length).toBe(wanted.size);
      expect(new Map(read)).toEqual(new Map([...wanted].map(([labels, value]) => [labels, value === 0 ? 0 : value])));
    }));
  });

  test("no text makes it fail", () => {
    const piece = fc.oneof(
      fc.constantFrom("a", "{", "}", 'x="', '"', "\\", ",", " ", "\n", "1", "#", "le", "+Inf"),
      fc.string(),
    );
    fc.assert(fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const lines = pieces.join("");
      const metrics = parseMetrics(lines);
      const read = [...metrics.names].reduce((sum, name) => sum + metrics.samples(name).length, 0);
      expect(read + metrics.unread).toBeLessThanOrEqual(lines.split("\n").length);
    }));
  });
});
