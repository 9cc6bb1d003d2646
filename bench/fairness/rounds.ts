/**
 * The rounds of a run: every arm one right after the other, in an order that turns.
 *
 * @module
 */
import type { Arm } from "../http/arms/arm.ts";
import type { Field } from "../http/field.ts";
import { drained } from "../support/probe.ts";
import { calmLimit } from "../http/window.ts";
import { order } from "../support/rounds.ts";
import { distrust, quiet, trusted } from "../support/trust.ts";
import { closedLoop } from "./closed_loop.ts";
import type { OpenSample, Unloaded } from "./open_figures.ts";
import { openMix, unloaded } from "./open_mix.ts";
import type { Options } from "./options.ts";
import type { Page } from "./pages.ts";
import { measure, type Sample } from "./window.ts";

export interface Session {
  readonly field: Field;
  readonly arms: readonly Arm[];
  readonly o: Options;
  say(text: string): void;
}

/** All windows of the closed loop, the arms in turn. */
export async function closedRounds({ field, arms, o, say }: Session): Promise<Sample[]> {
  const samples: Sample[] = [];
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
      for (const arm of order(arms, round)) {
        samples.push(await trustedWindow({ field, arms, o, say }, arm, page, round));
      }
    }
  }
  return samples;
}

/** One window, again while it cannot be trusted and tries are left. */
async function trustedWindow({ field, o, say }: Session, arm: Arm, page: Page, round: number): Promise<Sample> {
  const running = field.get(arm, "scripts");
  const target = { port: running.port, path: page.path };
  const { children: slots, ...rest } = o;
  return await trusted(o, async () => {
    await drained(target, await calmLimit(target));
    const sample = await measure(arm.name, running, page, round, { ...rest, slots, phpFpm: field.phpFpm });
    const { throughput, mean, variation, measured, ideal, laps, passed, jain, generator, faults } = sample;
    const ratio = (key: keyof typeof ideal) => (measured[key] / ideal[key]).toFixed(3);
    say(
      `round ${round + 1}  ${page.name} ${arm.name}: ${throughput.toFixed(0)}/s, mean/(N/X) ${mean.toFixed(3)}, ` +
        `C ${variation.toFixed(2)}, measured/ideal p50 ${ratio("p50")} p99 ${ratio("p99")} p99.9 ${ratio("p999")}, ` +
        `early ${(laps.early * 100).toFixed(2)} %, passed ${(passed * 100).toFixed(2)} %, ` +
        `overtakes ${sample.overtakes ?? "-"}, Jain ${jain.toFixed(4)}, generator ${(generator * 100).toFixed(0)} % ` +
        `of a core${distrust(faults)}`,
    );
    return sample;
  });
}

/** All windows of open arrivals. @param log where the pages write who was executed */
export async function openRounds({ field, arms, o, say }: Session, log: string): Promise<OpenSample[]> {
  const samples: OpenSample[] = [];
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
          log,
        });
        samples.push(sample);
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
  return samples;
}
