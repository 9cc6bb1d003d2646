import { describe, expect, test } from "bun:test";
import { parseExposition } from "./parse.ts";

const histogram = (lines: string) => `# HELP h H\n# TYPE h histogram\n${lines}`;

describe("the parser the other tests trust", () => {
  test("reads a good text", () => {
    const metrics = parseExposition('# HELP a_total A\\\\b\\nc\n# TYPE a_total counter\na_total{x="1\\"\\n"} 3\n');
    expect(metrics.get("a_total")).toEqual({
      name: "a_total",
      type: "counter",
      help: "A\\b\nc",
      samples: [{ name: "a_total", labels: Object.assign(Object.create(null), { x: '1"\n' }), value: 3 }],
    });
  });

  const bad: Readonly<Record<string, string>> = {
    "no newline at the end": "# HELP a A\n# TYPE a gauge\na 1",
    "a sample without TYPE": "a 1\n",
    "TYPE without HELP": "# TYPE a gauge\na 1\n",
    "a sample of another metric": "# HELP a A\n# TYPE a gauge\nb 1\n",
    "a bad value": "# HELP a A\n# TYPE a gauge\na Infinity\n",
    "an open quote": '# HELP a A\n# TYPE a gauge\na{x="1} 1\n',
    "an unknown escape": '# HELP a A\n# TYPE a gauge\na{x="\\t"} 1\n',
    "a sample twice": "# HELP a A\n# TYPE a gauge\na 1\na 1\n",
    "a TYPE twice": "# HELP a A\n# TYPE a gauge\na 1\n# HELP a A\n# TYPE a gauge\n",
    "buckets that fall": histogram('h_bucket{le="1"} 2\nh_bucket{le="+Inf"} 1\nh_sum 1\nh_count 1\n'),
    "no +Inf": histogram('h_bucket{le="1"} 2\nh_sum 1\nh_count 2\n'),
    "a count that is not +Inf": histogram('h_bucket{le="+Inf"} 1\nh_sum 1\nh_count 2\n'),
    "no sum": histogram('h_bucket{le="+Inf"} 1\nh_count 1\n'),
  };
  for (const [name, text] of Object.entries(bad)) {
    test(`refuses ${name}`, () => expect(() => parseExposition(text)).toThrow());
  }
  test("refuses OpenMetrics without EOF", () => {
    expect(() => parseExposition("# HELP a A\n# TYPE a gauge\na 1\n", true)).toThrow("EOF");
  });
});
