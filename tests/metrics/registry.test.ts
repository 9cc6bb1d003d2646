import { describe, expect, test } from "bun:test";
import type { Meter, Sample } from "../../core/contracts/meter.ts";
import { Registry } from "../../plugins/metrics/registry.ts";

/** The code of the error `run` throws. */
function codeOf(run: () => unknown): string | undefined {
  try {
    run();
  } catch (error) {
    return (error as { code?: string }).code;
  }
  return undefined;
}

const noErrors = [
  "# HELP fairlead_metrics_errors_total Metric values that could not be read or kept",
  "# TYPE fairlead_metrics_errors_total counter",
  "fairlead_metrics_errors_total 0",
];

function sample(): Registry {
  const registry = new Registry();
  const shed = registry.counters("shed_total", 'Turned away: "why"', ["lane", "reason"]);
  shed.with("php", "full").inc();
  shed.with("api", 'a"b\\c\nd').inc(2.5);
  registry.gauge("busy", "Workers\nbusy \\ all", () => 3);
  registry.gauges(
    "level",
    "Levels",
    ["of"],
    () => [[["z"], NaN], [["y"], -Infinity], [["x"], Infinity], [["w"], -0.5]],
  );
  const wait = registry.histograms("wait_seconds", "Wait", [0.25, 1, 2.5], ["lane"]).with("php");
  for (const value of [0.25, 0.3, 1, 7]) wait.observe(value);
  registry.histogram("size", "Sizes", [10]);
  return registry;
}

describe("exposition", () => {
  test("text format 0.0.4", () => {
    expect(sample().expose().split("\n")).toEqual([
      "# HELP busy Workers\\nbusy \\\\ all",
      "# TYPE busy gauge",
      "busy 3",
      ...noErrors,
      "# HELP level Levels",
      "# TYPE level gauge",
      'level{of="w"} -0.5',
      'level{of="x"} +Inf',
      'level{of="y"} -Inf',
      'level{of="z"} NaN',
      '# HELP shed_total Turned away: "why"',
      "# TYPE shed_total counter",
      'shed_total{lane="api",reason="a\\"b\\\\c\\nd"} 2.5',
      'shed_total{lane="php",reason="full"} 1',
      "# HELP size Sizes",
      "# TYPE size histogram",
      'size_bucket{le="10"} 0',
      'size_bucket{le="+Inf"} 0',
      "size_sum 0",
      "size_count 0",
      "# HELP wait_seconds Wait",
      "# TYPE wait_seconds histogram",
      'wait_seconds_bucket{lane="php",le="0.25"} 1',
      'wait_seconds_bucket{lane="php",le="1"} 3',
      'wait_seconds_bucket{lane="php",le="2.5"} 3',
      'wait_seconds_bucket{lane="php",le="+Inf"} 4',
      'wait_seconds_sum{lane="php"} 8.55',
      'wait_seconds_count{lane="php"} 4',
      "",
    ]);
  });

  test("OpenMetrics: families without _total, bounds with a point, quotes escaped in HELP, EOF", () => {
    const lines = sample().expose("openmetrics").split("\n");
    expect(lines.slice(-2)).toEqual(["# EOF", ""]);
    expect(lines.filter((line) => line.includes("shed"))).toEqual([
      '# HELP shed Turned away: \\"why\\"',
      "# TYPE shed counter",
      'shed_total{lane="api",reason="a\\"b\\\\c\\nd"} 2.5',
      'shed_total{lane="php",reason="full"} 1',
    ]);
    expect(lines.filter((line) => line.startsWith("wait_seconds_bucket"))).toEqual([
      'wait_seconds_bucket{lane="php",le="0.25"} 1',
      'wait_seconds_bucket{lane="php",le="1.0"} 3',
      'wait_seconds_bucket{lane="php",le="2.5"} 3',
      'wait_seconds_bucket{lane="php",le="+Inf"} 4',
    ]);
  });

  test("does not depend on the order of registration", () => {
    const make = (names: readonly string[]) => {
      const registry = new Registry();
      for (const name of names) {
        const family = registry.counters(name, "Help", ["a"]);
        for (const value of names) family.with(value).inc();
      }
      return registry.expose();
    };
    expect(make(["b_total", "a_total", "c_total"])).toBe(make(["c_total", "b_total", "a_total"]));
  });
});

describe("registering", () => {
  test("gives the same metric for the same description", () => {
    const registry = new Registry();
    registry.counter("a_total", "A").inc();
    registry.counter("a_total", "A").inc();
    expect(registry.counters("b_total", "B", ["x"])).toBe(registry.counters("b_total", "B", ["x"]));
    expect(registry.counters("b_total", "B", ["x"]).with("1")).toBe(registry.counters("b_total", "B", ["x"]).with("1"));
    expect(registry.histogram("h", "H", [1, 2])).toBe(registry.histogram("h", "H", [1, 2]));
    expect(registry.expose()).toContain("\na_total 2\n");
  });

  const conflicts: Readonly<Record<string, (meter: Meter) => unknown>> = {
    "another type": (meter) => meter.histogram("level", "Level", [1]),
    "another help": (meter) => meter.counter("a_total", "Other"),
    "more labels": (meter) => meter.counters("a_total", "A", ["x"]),
    "labels in another order": (meter) => meter.counters("b_total", "B", ["y", "x"]),
    "other bounds": (meter) => meter.histogram("h", "H", [1, 3]),
    "a second reader of one number": (meter) => meter.gauge("level", "Level", () => 2),
    "the name of a histogram's sample": (meter) => meter.gauge("h_count", "Count", () => 1),
    "samples named as another metric": (meter) => meter.histogram("taken", "Taken", [1]),
    "a counter's family in OpenMetrics": (meter) => meter.gauge("a", "A", () => 1),
  };
  for (const [name, run] of Object.entries(conflicts)) {
    test(`refuses a taken name: ${name}`, () => {
      const registry = new Registry();
      registry.counter("a_total", "A");
      registry.counters("b_total", "B", ["x", "y"]);
      registry.histogram("h", "H", [1, 2]);
      registry.gauge("level", "Level", () => 1);
      registry.gauge("taken_sum", "Sum", () => 1);
      const before = registry.expose();
      expect(codeOf(() => run(registry))).toBe("METRIC_TAKEN");
      expect(registry.expose()).toBe(before);
    });
  }

  const badNames: Readonly<Record<string, (meter: Meter) => unknown>> = {
    "an empty name": (meter) => meter.gauge("", "", () => 1),
    "a digit first": (meter) => meter.gauge("1a", "", () => 1),
    "a dash": (meter) => meter.gauge("a-b", "", () => 1),
    "a newline at the end": (meter) => meter.gauge("a\n", "", () => 1),
    "a colon, which is for recording rules": (meter) => meter.gauge("a:b", "", () => 1),
    "a counter without _total": (meter) => meter.counter("a", ""),
    "a counter named only _total": (meter) => meter.counter("_total", ""),
    "a gauge with _total": (meter) => meter.gauge("a_total", "", () => 1),
    "a bad label": (meter) => meter.counters("a_total", "", ["a.b"]),
    "a reserved label": (meter) => meter.counters("a_total", "", ["__name__"]),
    "a label twice": (meter) => meter.counters("a_total", "", ["a", "a"]),
    "le in a histogram": (meter) => meter.histograms("a", "", [1], ["le"]),
  };
  for (const [name, run] of Object.entries(badNames)) {
    test(`refuses ${name}`, () => expect(codeOf(() => run(new Registry()))).toBe("METRIC_NAME"));
  }

  for (const bounds of [[], [1, 1], [2, 1], [1, Infinity], [NaN]]) {
    test(`refuses the bounds [${bounds}]`, () => {
      expect(codeOf(() => new Registry().histogram("h", "", bounds))).toBe("METRIC_BOUNDS");
    });
  }

  test("refuses label values that do not fit", () => {
    const family = new Registry().counters("a_total", "A", ["x", "y"]);
    for (const values of [[], ["1"], ["1", "2", "3"]]) {
      expect(codeOf(() => family.with(...values))).toBe("METRIC_LABELS");
    }
  });
});

describe("what would spoil a scrape", () => {
  test("a gauge that throws is left out and counted in the same scrape", () => {
    const errors: unknown[] = [];
    const registry = new Registry({ onError: (metric, error) => errors.push([metric, String(error)]) });
    registry.gauge("a", "A", () => {
      throw new Error("gone");
    });
    registry.gauges("z", "Z", ["x"], function* (): Iterable<Sample> {
      yield [["half"], 1];
      throw new Error("broke");
    });
    registry.gauge("m", "M", () => 1);
    const text = registry.expose();
    expect(text).toContain("\nm 1\n");
    expect(text).toContain("\nfairlead_metrics_errors_total 2\n");
    expect(text).not.toContain("half");
    expect(errors).toEqual([["a", "Error: gone"], ["z", "Error: broke"]]);
  });

  test("so is one that says what cannot be printed", () => {
    const registry = new Registry();
    const samples: Readonly<Record<string, readonly Sample[]>> = {
      no_number: [[["a"], "1" as unknown as number]],
      too_many_labels: [[["a", "b"], 1]],
      twice: [[["a"], 1], [["a"], 2]],
    };
    for (const [name, read] of Object.entries(samples)) registry.gauges(name, "Help", ["x"], () => read);
    expect(registry.expose().split("\n").filter((line) => line !== "" && !line.startsWith("#"))).toEqual([
      "fairlead_metrics_errors_total 3",
    ]);
  });

  test("several readers fill one gauge, and only the failing one is left out", () => {
    const registry = new Registry();
    registry.gauges("busy", "Busy", ["pool"], () => [[["a"], 1]]);
    registry.gauges("busy", "Busy", ["pool"], () => [[["b"], 2], [["a"], 9]]);
    registry.gauges("busy", "Busy", ["pool"], () => [[["c"], 3]]);
    expect(registry.expose().match(/^busy.*$/gm)).toEqual(['busy{pool="a"} 1', 'busy{pool="c"} 3']);
  });

  test("a gauge prints no more points than the bound", () => {
    const registry = new Registry({ limit: 2 });
    registry.gauges("busy", "Busy", ["pool"], () => ["a", "b", "c"].map((pool) => [[pool], 1]));
    expect(registry.expose()).toContain("fairlead_metrics_errors_total 1\n");
  });

  test("numbers that would stay for good are refused and counted", () => {
    const registry = new Registry();
    const counter = registry.counter("a_total", "A");
    const histogram = registry.histogram("h", "H", [1]);
    for (const bad of [NaN, Infinity, -Infinity]) {
      counter.inc(bad);
      histogram.observe(bad);
    }
    counter.inc(-1);
    counter.inc(0);
    counter.inc(2);
    histogram.observe(0.5);
    const text = registry.expose();
    expect(text).toContain("\nfairlead_metrics_errors_total 7\n");
    expect(text).toContain("\na_total 2\n");
    expect(text).toContain("\nh_sum 0.5\nh_count 1\n");
  });

  test("label values that print alike share a child", () => {
    const registry = new Registry();
    const family = registry.counters("a_total", "A", ["x"]);
    family.with("\ud800").inc();
    family.with("\udfff").inc();
    family.with("\ufffd").inc();
    expect(registry.expose().match(/^a_total.*$/gm)).toEqual(['a_total{x="\ufffd"} 3']);
  });
});
