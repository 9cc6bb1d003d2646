/**
 * Is the queue fair, and what is it worth? Starts every server itself and measures all of them in turn.
 *
 * @module
 */
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import type { Arm } from "../http/arms/arm.ts";
import { Field } from "../http/field.ts";
import { workFolder } from "../support/folder.ts";
import { machine } from "../support/machine.ts";
import { benchmark, imageOf, say, writeJson } from "../support/main.ts";
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

class Run {
  readonly #o: Options;
  readonly #log = join(workFolder("fairness", false), "executed");
  readonly #samples: Sample[] = [];
  readonly #open: OpenSample[] = [];

  constructor(o: Options) {
    this.#o = o;
    writeFileSync(this.#log, "");
    // PHP is another user when root runs this.
    chmodSync(this.#log, 0o666);
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

async function run(o: Options): Promise<number> {
  const report = await new Run(o).all();
  writeJson(o.json, report);
  if (o.svg !== undefined) writeFileSync(o.svg, waitsChart(report.samples));
  process.stdout.write(markdown(report, imageOf(o)));
  const { broken, gates } = report.verdict;
  for (const why of broken) say(`BROKEN  ${why}`);
  const missed = gates.filter(({ holds }) => !holds);
  for (const one of missed) say(`missed  ${one.of}: ${failure(one)}`);
  return broken.length > 0 ? 1 : missed.length > 0 ? 2 : 0;
}

benchmark(USAGE, parseOptions, run);
