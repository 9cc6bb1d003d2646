/**
 * Metrics as text: Prometheus text format 0.0.4 and OpenMetrics 1.0.
 *
 * @module
 */
import type { Distribution, Snapshot } from "./metric.ts";
import { escapeHelp } from "./names.ts";

export type Format = "text" | "openmetrics";

/** The `Content-Type` of each format. */
export const contentTypes: Readonly<Record<Format, string>> = {
  text: "text/plain; version=0.0.4; charset=utf-8",
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
};

export function writeText(metrics: readonly Snapshot[], format: Format): string {
  const open = format === "openmetrics";
  let text = "";
  for (const { name, type, help, points } of metrics) {
    // OpenMetrics names the family, and only its sample ends in _total.
    const family = open && type === "counter" ? name.slice(0, -"_total".length) : name;
    text += `# HELP ${family} ${escapeHelp(help, open)}\n# TYPE ${family} ${type}\n`;
    for (const { labels, value } of points) {
      text += typeof value === "number"
        ? `${name}${braces(labels)} ${formatNumber(value)}\n`
        : writeDistribution(name, labels, value, open ? formatBound : formatNumber);
    }
  }
  return open ? `${text}# EOF\n` : text;
}

function writeDistribution(
  name: string,
  labels: string,
  { bounds, counts, sum }: Distribution,
  bound: (value: number) => string,
): string {
  const others = labels === "" ? "" : `${labels},`;
  let text = "";
  let total = 0;
  for (let i = 0; i < counts.length; i++) {
    total += counts[i]!;
    text += `${name}_bucket{${others}le="${bound(bounds[i] ?? Infinity)}"} ${total}\n`;
  }
  return `${text}${name}_sum${braces(labels)} ${formatNumber(sum)}\n${name}_count${braces(labels)} ${total}\n`;
}

function braces(labels: string): string {
  return labels === "" ? "" : `{${labels}}`;
}

/** A number as both formats read it: `NaN`, `+Inf` and `-Inf` by name. */
function formatNumber(value: number): string {
  if (value === Infinity) return "+Inf";
  if (value === -Infinity) return "-Inf";
  return String(value);
}

/** OpenMetrics compares bounds as text, so a whole number keeps its point: `1.0`. */
function formatBound(value: number): string {
  const text = formatNumber(value);
  return /^-?\d+$/.test(text) ? `${text}.0` : text;
}
