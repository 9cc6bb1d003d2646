/**
 * The command line of the gates' benchmark.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { ARMS } from "./arms/all.ts";
import { EXPERIMENTS } from "./experiments.ts";

export const USAGE: string = `bun bench/gates/run.ts [options]

  --runtimes A,B      bun, deno (default: both)
  --arms A;B          ${Object.keys(ARMS).join("; ")} (default: all)
  --experiments A,B   ${EXPERIMENTS.map(({ name }) => name).join(", ")} (default: all)
  --depths A,B        only lines of these lengths
  --rounds N          interleaved rounds (default 5)
  --ms N              length of one measurement, after half as long a warm-up (default 1000)
  --json FILE         write everything that was measured
  --quick             one round of 300 ms
`;

export interface Options {
  readonly runtimes: readonly string[];
  readonly arms: readonly string[];
  readonly experiments: readonly string[];
  readonly depths: readonly number[] | undefined;
  readonly rounds: number;
  readonly ms: number;
  readonly json: string | undefined;
}

/** Reads the command line; undefined when help was asked for. */
export function parseOptions(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      runtimes: { type: "string", default: "bun,deno" },
      arms: { type: "string", default: Object.keys(ARMS).join(";") },
      experiments: { type: "string", default: EXPERIMENTS.map(({ name }) => name).join(",") },
      depths: { type: "string" },
      rounds: { type: "string" },
      ms: { type: "string" },
      json: { type: "string" },
      quick: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return undefined;
  return {
    runtimes: known("runtime", values.runtimes.split(","), ["bun", "deno"]),
    arms: known("arm", values.arms.split(";").map((name) => name.trim()), Object.keys(ARMS)),
    experiments: known("experiment", values.experiments.split(","), EXPERIMENTS.map(({ name }) => name)),
    depths: values.depths?.split(",").map((depth) => whole("depths", depth)),
    rounds: whole("rounds", values.rounds ?? (values.quick ? "1" : "5")),
    ms: whole("ms", values.ms ?? (values.quick ? "300" : "1000")),
    json: values.json,
  };
}

function known(what: string, given: readonly string[], all: readonly string[]): readonly string[] {
  for (const name of given) {
    if (!all.includes(name)) throw new Error(`Unknown ${what} "${name}"; expected one of ${all.join(", ")}\n${USAGE}`);
  }
  return given;
}

function whole(option: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1) return value;
  throw new Error(`Expected --${option} to be a whole number of at least 1, got ${text}`);
}
