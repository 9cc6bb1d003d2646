import type { Registry } from "./registry.ts";

/** Every metric of a registry as a Markdown table, for a page of the documentation. */
export function metricsTable(registry: Pick<Registry, "describe">): string {
  const rows = registry.describe().map(({ name, type, labels, help }) => [
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(", "),
    cell(help),
  ]);
  return [["Name", "Type", "Labels", "Meaning"], ["---", "---", "---", "---"], ...rows]
    .map((row) => `| ${row.join(" | ")} |\n`)
    .join("");
}

function cell(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("|", "\\|").replaceAll(/\s*\n\s*/g, " ").replaceAll("<", "&lt;");
}
