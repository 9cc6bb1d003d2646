/**
 * Compares servers on the same machine, in the same run: every round measures all arms one right after the other.
 *
 * @module
 */
import { machine } from "../support/machine.ts";
import { benchmark, say, writeJson } from "../support/main.ts";
import { order } from "../support/rounds.ts";
import { ms, table } from "../support/table.ts";
import { distrust, trusted } from "../support/trust.ts";
import type { Arm } from "./arms/arm.ts";
import { HEAD, row } from "./cell_table.ts";
import { Field } from "./field.ts";
import { checkIdentity, iniDifferences } from "./identity.ts";
import { type Options, parseOptions, USAGE } from "./options.ts";
import type { Page } from "./pages.ts";
import type { Report } from "./report_types.ts";
import { differentBodies, type Sample, summarize } from "./summary.ts";
import { calmLimit, measure } from "./window.ts";
import { runWrk } from "./wrk.ts";

/** Turns of the line that a window must hold, so that the start-up of the queue does not weigh. */
const LAPS = 20;

/** One window that can be trusted, if there is any. */
async function window(
  o: Options,
  field: Field,
  arm: Arm,
  page: Page,
  clients: number,
  round: number,
): Promise<Sample> {
  const running = field.get(arm, page.site);
  const target = { port: running.port, path: page.path, host: o.host };
  const result = await trusted(o, async () => {
    const found = await measure({
      target,
      clients,
      seconds: o.seconds,
      laps: LAPS,
      warmup: o.warmup,
      calmMs: await calmLimit(target),
      maxForeign: o.maxForeign,
      // Requests cut off at the end have sent a part, and who has waited in line is told how long (Server-Timing), which the
      // reference request was not.
      slack: { bytes: 48, share: 0.01 },
      check: () => checkIdentity(running, field.phpFpm, o.children),
    });
    say(
      `round ${round + 1}  ${page.name} c=${clients} ${arm.name}: ${found.throughput.toFixed(0)} req/s, ` +
        `p50 ${ms(found.p50)}, p99 ${ms(found.p99)} ms, little ${found.little.toFixed(3)}, ` +
        `foreign ${(found.foreign * 100).toFixed(1)} %${distrust(found.faults)}`,
    );
    return found;
  });
  return { arm: arm.name, page: page.name, clients, round, ...result };
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

async function run(o: Options): Promise<number> {
  const field = new Field({ ...o, sites: [...new Set(o.pages.map((page) => page.site))], say });
  const samples: Sample[] = [];
  const startedAt = new Date().toISOString();
  try {
    await field.start();
    const control = o.arms[0]!;
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
          for (const arm of order(o.arms, round)) samples.push(await window(o, field, arm, page, clients, round));
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
    writeJson(o.json, report, 2);
    return bodies.length > 0 || cells.some((cell) => cell.good === 0) ? 1 : 0;
  } finally {
    await field.stop();
  }
}

benchmark(USAGE, parseOptions, run);
