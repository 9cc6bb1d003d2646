import { cut } from "./db_table.ts";
import type { TopLine } from "./top_parts.ts";

/** What a terminal can show. */
export interface Terminal {
  readonly columns: number;
  readonly rows: number;
  readonly colour: boolean;
}

/** Numbers of SGR, ECMA-48 8.3.117. */
const colours = { good: 32, warn: 33, bad: 31, head: 1, faint: 2 } as const;

/** Lines as what draws them over the ones before: as many as fit. */
export function paint(lines: readonly TopLine[], { columns, rows, colour }: Terminal): string {
  const shown = lines.slice(0, rows - 1).map(({ text, tone }) => {
    const fits = cut(text, columns);
    return colour && tone !== undefined ? `\x1b[${colours[tone]}m${fits}\x1b[0m` : fits;
  });
  // Home, then each line to its end, then what was below: a screen that is wiped first would flicker.
  return `\x1b[H${shown.map((line) => `${line}\x1b[K`).join("\n")}\x1b[J`;
}
