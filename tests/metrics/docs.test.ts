import { describe, expect, test } from "bun:test";
import { metricsTable } from "../../plugins/metrics/docs.ts";
import { Registry } from "../../plugins/metrics/registry.ts";

describe("metricsTable", () => {
  test("lists every metric by name, with what Markdown would eat escaped", () => {
    const registry = new Registry();
    registry.histograms("wait_seconds", "Wait a | b\n<c>", [1], ["lane", "class"]);
    registry.gauge("busy", "Busy \\ all", () => 1);
    expect(metricsTable(registry)).toBe(
      "| Name | Type | Labels | Meaning |\n| --- | --- | --- | --- |\n" +
        "| `busy` | gauge |  | Busy \\\\ all |\n" +
        "| `fairlead_metrics_errors_total` | counter |  | Metric values that could not be read or kept |\n" +
        "| `wait_seconds` | histogram | `lane`, `class` | Wait a \\| b &lt;c> |\n",
    );
  });
});
