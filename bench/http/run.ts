/**
 * Compares servers on the same machine, in the same run: every round measures all arms one right after the other.
 *
 * @module
 */
import { runWrk } from "./wrk.ts";
import { writeFileSync } from "node:fs";
import process from "node:process";
import type { Arm } from "./arms/arm.ts";
import { Field } from "./field.ts";
import { iniDifferences } from "./identity.ts";
import { machine } from "./machine.ts";
import { type Options, parseOptions, USAGE } from "./options.ts";
import type { Page } from "./pages.ts";
import type { Report } from "./report_types.ts";
import { order, type Sample, summarize } from "./summary.ts";
import { HEAD, ms, row, table } from "./table.ts";
import { calmLimit, measure, quiet } from "./window.ts";

const say = (text: string) => process.stderr.write(`${text}\n`);

/** One window, again while it cannot be trusted and tries are left. */
async function trusted(
  o: Options,
  field: Field,
  arm: Arm,
  page: Page,
  clients: number,
  round: number,
): Promise<Sample> {
  const running = field.get(arm, page.site);
  await quiet(o.maxForeign, o.patience);
  const calmMs = await calmLimit({ port: running.port, path: page.path, host: o.host });
  for (let attempt = 0;; attempt++) {
    if (attempt > 0) await quiet(o.maxForeign, o.patience);
    const result = await measure(running, page, clients, {
      seconds: o.seconds,
      warmupSeconds: o.warmup,
      children: o.children,
      phpFpm: field.phpFpm,
      host: o.host,
      calmMs,
      maxForeign: o.maxForeign,
    });
    say(
      `round ${round + 1}  ${page.name} c=${clients} ${arm.name}: ${result.throughput.toFixed(0)} req/s, ` +
        `p50 ${ms(result.p50)}, p99 ${ms(result.p99)} ms, little ${result.little.toFixed(3)}, ` +
        `foreign ${(result.foreign * 100).toFixed(1)} %` +
        (result.faults.length > 0 ? `  NOT TRUSTED: ${result.faults.join("; ")}` : ""),
    );
    if (result.faults.length === 0 || attempt >= o.retries) {
      return { arm: arm.name, page: page.name, clients, round, ...result };
    }
  }
}

/**
 * Brings every server to where it is after a minute's work: a just-in-time compiler has optimised what runs, and PHP has
 * compiled its scripts.
 */
async function warmUp(o: Options, field: Field): Promise<void> {
  if (o.prewarm === 0) return;
  for (const site of new Set(o.pages.map((page) => page.site))) {
    const page = o.pages.find((one) => one.site === site)!;
    for (const arm of o.arms) {
      const url = `http://127.0.0.1:${field.get(arm, site).port}${page.path}`;
      await runWrk({ url, connections: 32, seconds: o.prewarm, host: o.host });
    }
  }
}

/** Every arm must have sent the same page. */
function differentBodies(samples: readonly Sample[]): string[] {
  const bodies = new Map<string, Map<string, string>>();
  for (const { page, sha256, arm } of samples) {
    const seen = bodies.get(page) ?? new Map<string, string>();
    bodies.set(page, seen.set(sha256, arm));
  }
  return [...bodies].filter(([, seen]) => seen.size > 1)
    .map(([page, seen]) => `${page}: ${[...seen].map(([hash, arm]) => `${arm} ${hash.slice(0, 12)}`).join(", ")}`);
}

async function main(): Promise<number> {
  const o = parseOptions(process.argv.slice(2));
  if (o === "help") {
    process.stdout.write(USAGE);
    return 0;
  }
  const field = new Field({ ...o, sites: [...new Set(o.pages.map((page) => page.site))], say });
  const samples: Sample[] = [];
  const startedAt = new Date().toISOString();
  try {
    await field.start();
    const [control] = o.arms;
    if (control === undefined) throw new Error("--arms names no server");
    const reference = field.facts.get(control.name);
    const differences: Record<string, string[]> = {};
    for (const [name, facts] of field.facts) {
      if (reference === undefined || name === control.name) continue;
      differences[name] = iniDifferences(reference, facts);
      if (differences[name].length > 0) say(`PHP settings of ${name} differ: ${differences[name].join("; ")}`);
    }
    await warmUp(o, field);
    for (let round = 0; round < o.rounds; round++) {
      for (const page of o.pages) {
        for (const clients of o.clients) {
          for (const arm of order(o.arms, round)) samples.push(await trusted(o, field, arm, page, clients, round));
        }
      }
    }
    const cells = summarize(samples, control.name, o.children);
    const bodies = differentBodies(samples);
    for (const difference of bodies) say(`The arms did not send the same page: ${difference}`);
    process.stdout.write(`${table(HEAD, cells.map(row))}\n`);
    const report: Report = {
      format: 1,
      startedAt,
      machine: machine(field.phpFpm, o.fairlead),
      control: control.name,
      children: o.children,
      rounds: o.rounds,
      seconds: o.seconds,
      pages: o.pages,
      arms: o.arms.map((arm) => ({
        name: arm.name,
        about: arm.about,
        servers: [...field.running].filter(([id]) => o.pages.some((page) => id === `${arm.name}-${page.site}`))
          .map(([id, { command, executable, config }]) => ({ id, command, executable, config })),
        php: field.facts.get(arm.name),
        phpDifferences: differences[arm.name] ?? [],
      })),
      bodyDifferences: bodies,
      cells,
      samples,
    };
    if (o.json !== undefined) writeFileSync(o.json, `${JSON.stringify(report, null, 2)}\n`);
    return bodies.length > 0 || cells.some((cell) => cell.good === 0) ? 1 : 0;
  } finally {
    await field.stop();
  }
}

main().then((code) => process.exit(code), (error: unknown) => {
  say(error instanceof Error ? error.message : String(error));
  process.exit(1);
});
