/**
 * FairGate against the gates of others, one process a measurement, arms interleaved in an order that turns.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { machine } from "../support/machine.ts";
import { EXPERIMENTS } from "./experiments.ts";
import { type Options, parseOptions, USAGE } from "./options.ts";
import type { Cost } from "./stopwatch.ts";
import { report, type Sample, verdicts } from "./summary.ts";

const top = fileURLToPath(new URL("../../", import.meta.url));
const measurer = fileURLToPath(new URL("./measure.ts", import.meta.url));
const commands: Readonly<Record<string, readonly [string, ...string[]]>> = {
  bun: [`${top}node_modules/.bin/bun`, "run"],
  deno: [`${top}node_modules/.bin/deno`, "run", "-A", "--no-check"],
};

const start = promisify(execFile);

async function measure(runtime: string, experiment: string, arm: string, depth: number, ms: number) {
  const [command, ...args] = commands[runtime]!;
  const { stdout } = await start(command, [...args, measurer, experiment, arm, String(depth), String(ms)]);
  return JSON.parse(stdout) as Cost | null;
}

async function runAll(o: Options): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (let round = 0; round < o.rounds; round++) {
    for (const experiment of EXPERIMENTS.filter(({ name }) => o.experiments.includes(name))) {
      for (const depth of experiment.depths.filter((one) => o.depths?.includes(one) ?? true)) {
        const pairs = o.arms.flatMap((arm) => o.runtimes.map((runtime) => ({ arm, runtime })));
        const turned = pairs.map((_, i) => pairs[(i + round * 3) % pairs.length]!);
        for (const { arm, runtime } of round % 2 === 0 ? turned : turned.reverse()) {
          const cannot = samples.some((s) => s.arm === arm && s.experiment === experiment.name && s.cost === null);
          const cost = cannot ? null : await measure(runtime, experiment.name, arm, depth, o.ms);
          samples.push({ runtime, experiment: experiment.name, depth, arm, round, cost });
        }
        process.stderr.write(`round ${round + 1}: ${experiment.name}, ${depth}\n`);
      }
    }
  }
  return samples;
}

async function main(): Promise<number> {
  const o = parseOptions(process.argv.slice(2));
  if (o === undefined) {
    process.stdout.write(USAGE);
    return 0;
  }
  const startedAt = new Date().toISOString();
  const before = loadavg()[0]!;
  const samples = await runAll(o);
  const order = (arm: string) => o.arms.indexOf(arm);
  const sorted = samples.toSorted((a, b) => a.round - b.round || order(a.arm) - order(b.arm));
  if (o.json !== undefined) {
    const facts = { format: 1, startedAt, machine: machine("php", top, {}), loadBefore: before, ...o };
    writeFileSync(o.json, `${JSON.stringify({ ...facts, samples: sorted }, null, 2)}\n`);
  }
  const what = (name: string) => EXPERIMENTS.find((one) => one.name === name)!.what;
  process.stdout.write(`${report(sorted, what)}\n\n${verdicts(sorted).join("\n")}\n`);
  if (before > 0.5) {
    process.stdout.write(
      `\nThe machine was not idle (load ${before.toFixed(1)}): figures are higher than they would be\n`,
    );
  }
  return 0;
}

main().then((code) => process.exit(code), (error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
