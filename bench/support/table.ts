/**
 * Plain tables for a terminal and for Markdown.
 *
 * @module
 */
import type { Spread } from "./statistics.ts";

export function fixed(value: number | undefined, digits: number): string {
  return value === undefined || Number.isNaN(value) ? "-" : value.toFixed(digits);
}

/** Milliseconds with three significant digits or so. */
export function ms(value: number): string {
  return fixed(value, value < 1 ? 3 : value < 100 ? 2 : 1);
}

export function ratio(value: Spread | undefined): string {
  return value === undefined ? "" : `${fixed(value.median, 2)} (${fixed(value.min, 2)}-${fixed(value.max, 2)})`;
}

/** Columns as wide as their widest cell; figures to the right, words to the left. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((cells) => cells[i]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    cells.map((text, i) => /^[\d.-]/.test(text) ? text.padStart(widths[i] ?? 0) : text.padEnd(widths[i] ?? 0)).join(
      "  ",
    );
  return [line(head), widths.map((width) => "-".repeat(width)).join("  "), ...rows.map(line)].join("\n");
}

export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const numeric = (i: number) => rows.some((cells) => /^[\d.]/.test(cells[i] ?? ""));
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map((_, i) => numeric(i) ? "---:" : "---")), ...rows.map(line)].join("\n");
}
