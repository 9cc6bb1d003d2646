/**
 * The command line of the database benchmark.
 *
 * @module
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { COMMON, FLAG, number as parse, type NumberLimits, OPTIONAL, pickSome, text } from "../support/options.ts";
import { type Trust, trustOf } from "../support/trust.ts";
import type { ProxyArm } from "./arms/arm.ts";
import { FAIRLEAD_ARMS } from "./arms/fairlead.ts";
import { HAPROXY } from "./arms/haproxy.ts";
import { ROUTER } from "./arms/router.ts";
import type { Sizes } from "./experiments.ts";
import type { MemorySizes } from "./memory.ts";
import type { ServerKind } from "./summary.ts";

export const ARMS: readonly ProxyArm[] = [HAPROXY, ROUTER, ...FAIRLEAD_ARMS];

const SERVERS: readonly ServerKind[] = ["mariadb", "mysql"];
const EXPERIMENTS = ["sessions", "queries", "throughput", "delay", "memory"] as const;
export type Experiment = typeof EXPERIMENTS[number];

export const USAGE: string = `bun bench/db/run.ts [options]

  --servers A,B       mariadb, mysql (default: both, as far as they are installed)
  --arms A,B          ${ARMS.map((arm) => arm.name).join(", ")} (default: all that are installed)
  --experiments A,B   ${EXPERIMENTS.join(", ")} (default: all)
  --doors TEXT        only doors whose name contains this, beside the control
  --rounds N          interleaved rounds (default 3)
  --sessions N        sessions in a window (default 2000)
  --queries N         queries of one row in a window; a third of 100 rows (default 5000)
  --seconds N         length of a throughput window (default 1)
  --delayed N         sessions in a window over the link with delay (default 60)
  --delay MS          delay of that link, each way (default 1)
  --idle N            idle sessions to weigh (default 2000)
  --bulk MIB          size of the large result (default 1024)
  --prewarm N         seconds of work on every Fairlead before the first round (default 8)
  --retries N         times an untrustworthy window is measured again (default 1)
  --max-foreign F     share of the machine others may use in a window (default 0.1)
  --patience N        seconds to wait for a quiet machine before measuring again (default 5)
  --fairlead DIR      the Fairlead to measure (default: this repository)
  --toml TEXT         appended to each database in the configuration of every Fairlead arm
  --json FILE         write everything that was measured
  --keep              keep the configuration and logs of the arms
  --quick             a look that takes about a minute: small windows, one round, no patience
`;

export interface Options extends Trust {
  readonly servers: readonly ServerKind[] | undefined;
  readonly arms: readonly ProxyArm[];
  readonly experiments: readonly Experiment[];
  readonly doors: string;
  readonly rounds: number;
  readonly sizes: Sizes;
  readonly memory: MemorySizes;
  readonly delayMs: number;
  readonly prewarm: number;
  readonly fairlead: string;
  readonly toml: string;
  readonly json: string | undefined;
  readonly keep: boolean;
}

/** Instead of the defaults, where nothing else is said. */
const QUICK: Readonly<Record<string, string>> = {
  rounds: "1",
  sessions: "200",
  queries: "600",
  seconds: "0.5",
  delayed: "20",
  idle: "200",
  bulk: "128",
  prewarm: "0",
  retries: "0",
  patience: "0",
};

export function parseOptions(args: readonly string[]): Options | "help" {
  const { values: given, tokens } = parseArgs({
    args: [...args],
    tokens: true,
    options: {
      ...COMMON,
      servers: OPTIONAL,
      arms: text(ARMS.map((arm) => arm.name).join(",")),
      experiments: text(EXPERIMENTS.join(",")),
      doors: text(""),
      rounds: text("3"),
      sessions: text("2000"),
      queries: text("5000"),
      seconds: text("1"),
      delayed: text("60"),
      delay: text("1"),
      idle: text("2000"),
      bulk: text("1024"),
      prewarm: text("8"),
      retries: text("1"),
      "max-foreign": text("0.1"),
      patience: text("5"),
      toml: text(""),
      quick: FLAG,
    },
  });
  if (given.help) return "help";
  const said = new Set(tokens.flatMap((token) => token.kind === "option" ? [token.name] : []));
  const value = (name: keyof typeof given): string => {
    const quick = given.quick && !said.has(name) ? QUICK[name] : undefined;
    return quick ?? String(given[name]);
  };
  const number = (name: keyof typeof given, limits?: NumberLimits) => parse(name, value(name), limits);
  const bulkMiB = number("bulk");
  return {
    servers: given.servers === undefined ? undefined : pickSome("server", SERVERS, given.servers),
    arms: pickSome("arm", ARMS, given.arms),
    experiments: pickSome("experiment", EXPERIMENTS, given.experiments),
    doors: given.doors,
    rounds: number("rounds"),
    sizes: {
      sessions: number("sessions"),
      queries: number("queries"),
      seconds: number("seconds", { least: 0.1, whole: false }),
      delayed: number("delayed"),
    },
    memory: { idle: number("idle"), bulkMiB, slowMiB: Math.min(128, bulkMiB), sessions: number("sessions") },
    delayMs: number("delay", { least: 0.1, whole: false }),
    prewarm: number("prewarm", { least: 0 }),
    ...trustOf({ retries: value("retries"), "max-foreign": value("max-foreign"), patience: value("patience") }),
    fairlead: resolve(given.fairlead),
    toml: given.toml,
    json: given.json,
    keep: given.keep,
  };
}
