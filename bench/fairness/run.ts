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
import { drained } from "../http/probe.ts";
import { order } from "../http/summary.ts";
import { calmLimit, quiet } from "../http/window.ts";
import { closedArms, openArms } from "./arms.ts";
import { waitsChart } from "./chart.ts";
import { closedLoop } from "./closed_loop.ts";
import { failure } from "./gates.ts";
import { openMix, type OpenSample, type Unloaded, unloaded } from "./open_mix.ts";
import { type Options, parseOptions, USAGE } from "./options.ts";
import { type Page, scripts } from "./pages.ts";
import { markdown } from "./report.ts";
import type { Report } from "./report_types.ts";
import { verdict } from "./verdict.ts";
import { measure, type Sample } from "./window.ts";

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
    if (o.pages.length > 0) await this.#with(closed, o.children, (field) => this.#closed(field, closed));
    if (o.open.length > 0) await this.#with(opened, o.openChildren, (field) => this.#opened(field, opened));
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

  async #closed(field: Field, arms: readonly Arm[]): Promise<void> {
    const o = this.#o;
    // A just-in-time compiler needs work to learn from, and PHP compiles a script when it is first asked for.
    for (const arm of arms) {
      const { port } = field.get(arm, "scripts");
      for (const { path } of o.pages) {
        const windowMs = o.prewarm * 1000 / o.pages.length;
        await closedLoop({
          port,
          path,
          clients: 32,
          warm: 0,
          warmMs: 0,
          answers: 32,
          windowMs,
          now: () => performance.now(),
        });
      }
    }
    for (let round = 0; round < o.rounds; round++) {
      for (const page of o.pages) {
        for (const arm of order(arms, round)) this.#samples.push(await this.#window(field, arm, page, round));
      }
    }
  }

  /** One window, again while it cannot be trusted and tries are left. */
  async #window(field: Field, arm: Arm, page: Page, round: number): Promise<Sample> {
    const o = this.#o;
    const running = field.get(arm, "scripts");
    for (let attempt = 0;; attempt++) {
      const target = { port: running.port, path: page.path };
      await quiet(o.maxForeign, o.patience);
      await drained(target, await calmLimit(target));
      const { children: slots, ...rest } = o;
      const sample = await measure(arm.name, running, page, round, { ...rest, slots, phpFpm: field.phpFpm });
      const { throughput, mean, variation, measured, ideal, laps, passed, jain, generator, faults } = sample;
      const ratio = (key: keyof typeof ideal) => (measured[key] / ideal[key]).toFixed(3);
      say(
        `round ${round + 1}  ${page.name} ${arm.name}: ${throughput.toFixed(0)}/s, mean/(N/X) ${mean.toFixed(3)}, ` +
          `C ${variation.toFixed(2)}, measured/ideal p50 ${ratio("p50")} p99 ${ratio("p99")} p99.9 ${ratio("p999")}, ` +
          `early ${(laps.early * 100).toFixed(2)} %, passed ${(passed * 100).toFixed(2)} %, ` +
          `overtakes ${sample.overtakes ?? "-"}, Jain ${jain.toFixed(4)}, generator ${
            (generator * 100).toFixed(0)
          } % ` +
          `of a core${faults.length > 0 ? `  NOT TRUSTED: ${faults.join("; ")}` : ""}`,
      );
      if (faults.length === 0 || attempt >= o.retries) return sample;
    }
  }

  async #opened(field: Field, arms: readonly Arm[]): Promise<void> {
    const o = this.#o;
    const alone = new Map<string, Unloaded>();
    const probes = Math.min(300, Math.ceil(o.openSeconds * 10));
    for (const arm of arms) alone.set(arm.name, await unloaded(field.get(arm, "scripts").port, probes));
    // The same arrivals for all: what the fastest server needs without load says what a slot is worth.
    const all = [...alone.values()];
    const fastest = {
      fast: Math.min(...all.map(({ fast }) => fast)),
      slow: Math.min(...all.map(({ slow }) => slow)),
    };
    for (let round = 0; round < o.openRounds; round++) {
      for (const share of o.open) {
        for (const arm of order(arms, round)) {
          await quiet(o.maxForeign, o.patience);
          const sample = await openMix(arm.name, field.get(arm, "scripts"), share, round, {
            ...alone.get(arm.name)!,
            ...fastest,
          }, {
            phpFpm: field.phpFpm,
            slots: o.openChildren,
            seconds: o.openSeconds,
            deadline: o.deadline,
            log: this.#log,
          });
          this.#open.push(sample);
          say(
            `round ${round + 1}  open x${share} ${arm.name}: ${sample.rate.toFixed(0)}/s sent, ` +
              `${sample.goodput.toFixed(0)}/s good (${(sample.useful * 100).toFixed(0)} % of PHP's time), refused ` +
              `${sample.refused} (p99 ${
                sample.refusalP99.toFixed(1)
              } ms), left ${sample.left}, failed ${sample.failed}, ` +
              `fast p99 ${sample.fastP99.toFixed(1)} ms (alone ${sample.unloadedFastP99.toFixed(1)}), ` +
              `wasted ${sample.wasted}, late ${sample.lateP99.toFixed(1)} ms`,
          );
        }
      }
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
