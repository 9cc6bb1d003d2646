/**
 * What the drawings have in common: they read on white and on dark, with grey text and no background.
 *
 * @module
 */
const COLOURS: readonly string[] = ["#2f6f9f", "#c2703d", "#4f8a4b", "#8a5a9e", "#7a7a7a"];

/** The colour of the `i`-th of a legend. */
export function colour(i: number): string {
  return COLOURS[i % COLOURS.length]!;
}

export function escape(text: string): string {
  return text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c] ?? c);
}

export interface Drawing {
  readonly width: number;
  readonly height: number;
  /** For who cannot see it. */
  readonly title: string;
  readonly parts: readonly string[];
}

export function svg({ width, height, title, parts }: Drawing): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" role="img" ` +
    `font-family="system-ui, sans-serif" font-size="12" fill="#888">\n<title>${escape(title)}</title>\n` +
    `${parts.join("\n")}\n</svg>\n`;
}
