/**
 * The outermost of each benchmark: what it says, writes and ends with.
 *
 * @module
 */
import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";

/** Progress, beside the report on stdout. */
export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Ends the process with what `main` resolves to, or with 1. A plain `Error` is for people; of others the stack is told. */
function runMain(main: () => Promise<number>): void {
  main().then((code) => process.exit(code), (error: unknown) => {
    const plain = error instanceof Error && error.constructor === Error;
    say(plain ? error.message : error instanceof Error ? error.stack ?? error.message : String(error));
    process.exit(1);
  });
}

/** The whole of a run whose command line is read by `parse`, which may throw. */
export function benchmark<O>(
  usage: string,
  parse: (args: readonly string[]) => O | "help",
  run: (options: O) => Promise<number>,
): void {
  runMain(async () => {
    const options = parse(process.argv.slice(2));
    if (options !== "help") return await run(options);
    process.stdout.write(usage);
    return 0;
  });
}

/** Writes a run's file, if one was asked for. */
export function writeJson(file: string | undefined, report: unknown, indent?: number): void {
  if (file !== undefined) writeFileSync(file, `${JSON.stringify(report, null, indent)}\n`);
}

interface Drawn {
  readonly svg?: string | undefined;
  readonly image?: string | undefined;
}

/** The address of a drawing in the Markdown: as given, or the file beside it. */
export function imageOf({ svg, image }: Drawn): string | undefined {
  return image ?? (svg === undefined ? undefined : basename(svg));
}

export interface Renderer<R> {
  markdown(report: R, image?: string): string;
  chart?(report: R): string;
}

/** `report.ts RUN.json [--svg CHART.svg] [--image PATH-IN-MARKDOWN]`: renders a run's file again. */
export function renderFile<R>(script: string, { markdown, chart }: Renderer<R>): number {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: chart === undefined ? {} : { svg: { type: "string" }, image: { type: "string" } },
  }) as { values: { svg?: string; image?: string }; positionals: string[] };
  const [file] = positionals;
  if (file === undefined) {
    const drawing = chart === undefined ? "" : " [--svg CHART.svg] [--image PATH-IN-MARKDOWN]";
    process.stderr.write(`usage: bun ${script} RUN.json${drawing}\n`);
    return 2;
  }
  const report = JSON.parse(readFileSync(file, "utf8")) as R;
  if (values.svg !== undefined && chart !== undefined) writeFileSync(values.svg, chart(report));
  process.stdout.write(markdown(report, imageOf(values)));
  return 0;
}
