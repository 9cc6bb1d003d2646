/**
 * Is the queue fair, and what is it worth? Starts every server itself and measures all of them in turn.
 *
 * @module
 */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import process from "node:process";
import type { Arm } from "../http/arms/arm.ts";
import { Field } from "../http/field.ts";
import { machine } from "../http/machine.ts";
import { closedArms, openArms } from "./arms.ts";
import { waitsChart } from "./chart.ts";
import { failure } from "./gates.ts";
import type { OpenSample } from "./open_figures.ts";
import { type Options, parseOptions, USAGE } from "./options.ts";
import { scripts } from "./pages.ts";
import { markdown } from "./report.ts";
import type { Report } from "./report_types.ts";
import { closedRounds, openRounds } from "./rounds.ts";
import { verdict } from "./verdict.ts";
import type { Sample } from "./window.ts";

const say = (text: string) => process.stderr.write(`${text}\n`);

class Run {
  readonly #o: Options;
  readonly #dir = mkdtempSync(join(tmpdir(), "fairlead-fairness-"));
  readonly #log = join(this.#dir, "executed");
  readonly #samples: Sample[] = [];
  readonly #open: OpenSample[] = [];

  constructor(o: Options) {
    this.#o = o;
    // PHP is another user when root runs this.
    chmodSync(this.#dir, 0o755);
    writeFileSync(this.#log, "");
    chmodSync(this.#log, 0o666);
    process.on("exit", () => rmSync(this.#dir, { recursive: true, force: true }));
  }

  async all(): Promise<Report> {
    const o = this.#o;
    const startedAt = new Date().toISOString();
    const closed = closedArms(o.runtime).filter(({ name }) => name !== "nginx" || o.control);
    const opened = openArms(o.runtime, o.openChildren, `${o.grace}ms`, o.classes)
      .filter(({ name }) => name !== "nginx" || o.control);
    if (o.pages.length > 0) {
      await this.#with(closed, o.children, async (field) => {
        this.#samples.push(...await closedRounds({ field, arms: closed, o, say }));
      });
    }
    if (o.open.length > 0) {
      await this.#with(opened, o.openChildren, async (field) => {
        this.#open.push(...await openRounds({ field, arms: opened, o, say }, this.#log));
      });
    }
    const named = ({ name, about }: { readonly name: string; readonly about: string }) => ({ name, about });
    return {
      format: 1,
      startedAt,
      machine: machine(o.phpFpm ?? "php-fpm8.2", o.fairlead, { nginx: ["nginx", "-v"] }),
      runtime: o.runtime,
      clients: o.clients,
      children: o.children,
      rounds: o.rounds,
      pages: o.pages.map(named),
      arms: closed.map(named),
      openArms: opened.map(named),
      samples: this.#samples,
      open: this.#open,
      openTerms: { children: o.openChildren, deadline: o.deadline, grace: o.grace },
      verdict: verdict(this.#samples, this.#open, o.pages),
    };
  }

  /** Starts the arms side by side; throws when one cannot start, or somebody else answers on its port. */
  async #with(arms: readonly Arm[], children: number, work: (field: Field) => Promise<void>): Promise<void> {
    const o = this.#o;
    const field = new Field({
      arms,
      sites: ["scripts"],
      children,
      phpFpm: o.phpFpm,
      wordpress: undefined,
      fairlead: o.fairlead,
      toml: "",
      keep: o.keep,
      scripts: scripts(this.#log),
      say,
    });
    try {
      await field.start();
      await work(field);
    } finally {
      await field.stop();
    }
  }
}

async function main(): Promise<number> {
  const o = parseOptions(process.argv.slice(2));
  if (o === "help") {
    process.stdout.write(USAGE);
    return 0;
  }
  const report = await new Run(o).all();
  if (o.json !== undefined) writeFileSync(o.json, `${JSON.stringify(report)}\n`);
  if (o.svg !== undefined) writeFileSync(o.svg, waitsChart(report.samples));
  process.stdout.write(markdown(report, o.image ?? (o.svg === undefined ? undefined : basename(o.svg))));
  const { broken, gates } = report.verdict;
  for (const why of broken) say(`BROKEN  ${why}`);
  const missed = gates.filter(({ holds }) => !holds);
  for (const one of missed) say(`missed  ${one.of}: ${failure(one)}`);
  return broken.length > 0 ? 1 : missed.length > 0 ? 2 : 0;
}

main().then((code) => process.exit(code), (error: unknown) => {
  say(error instanceof Error ? error.stack ?? error.message : String(error));
  process.exit(1);
});
