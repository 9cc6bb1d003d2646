/**
 * Which names a metric and its labels may have, and how their values are written. Rules of the Prometheus text format
 * 0.0.4 and of OpenMetrics 1.0, whichever is stricter, so that one registry can answer in both.
 *
 * @module
 */
import { CoreError } from "../../core/error.ts";
import type { Description } from "./metric.ts";

const NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/** Throws `METRIC_NAME` unless name and labels can be printed in both formats. */
export function checkNames({ name, type, labels }: Pick<Description, "name" | "type" | "labels">): void {
  if (!NAME.test(name)) {
    throw invalid(name, "expected letters, digits and underscores, not starting with a digit");
  }
  if (type === "counter" && !/._total$/.test(name)) throw invalid(name, "the name of a counter ends in _total");
  if (type !== "counter" && name.endsWith("_total")) throw invalid(name, `_total is for counters, this is a ${type}`);
  labels.forEach((label, i) => {
    if (!NAME.test(label) || label.startsWith("__")) {
      throw invalid(name, `label ${label}: expected letters, digits and underscores, not starting with a digit or __`);
    }
    if (type === "histogram" && label === "le") throw invalid(name, "label le holds a histogram's bounds");
    if (labels.indexOf(label) !== i) throw invalid(name, `label ${label} is named twice`);
  });
}

function invalid(name: string, why: string): CoreError {
  return new CoreError("METRIC_NAME", `Cannot register metric ${name}: ${why}`);
}

/** Every name a metric's samples and its family have in either format: no two metrics may share one. */
export function namesTaken({ name, type }: Pick<Description, "name" | "type">): readonly string[] {
  if (type === "counter") return [name, name.slice(0, -"_total".length)];
  if (type === "histogram") return [name, `${name}_bucket`, `${name}_sum`, `${name}_count`];
  return [name];
}

/** Label pairs as they stand between the braces. `values` must be as many as `names`. */
export function labelPairs(names: readonly string[], values: readonly string[]): string {
  return names.map((name, i) => `${name}="${escapeLabel(values[i]!)}"`).join(",");
}

function escapeLabel(value: string): string {
  return /[\\"\n]/.test(value) ? value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n") : value;
}

/** Only OpenMetrics escapes a quote in HELP. */
export function escapeHelp(help: string, quotes: boolean): string {
  const escaped = help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
  return quotes ? escaped.replaceAll('"', '\\"') : escaped;
}
