/**
 * The command line.
 *
 * @module
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { COMMON, FLAG, number, numbers, OPTIONAL, pick, text } from "../support/options.ts";
import { type Trust, trustOf } from "../support/trust.ts";
import { type Page, PAGES } from "./pages.ts";

export const USAGE: string = `bun bench/fairness/run.ts [options] > section.md

  --pages P,Q         ${PAGES.map((page) => page.name).join(", ")} (default all; "" for none)
  --arms A,B          fifo, barge, nginx (default all; fifo and barge are always there)
  --runtime NAME      bun, deno or binary: what Fairlead runs on (default bun)
  --clients N         keep-alive clients of the closed loop (default 100)
  --children N        PHP processes of every arm (default 2)
  --rounds N          interleaved rounds (default 3)
  --seconds N         least length of a window (default 8)
  --laps N            least turns of the line in a window (default 20)
  --answers N         least answers in a window (default 4000)
  --warmup N          least seconds before a window; never less than three turns (default 2)
  --prewarm N         seconds of load on every server before the first round (default 10)
  --retries N         times an untrustworthy window is measured again (default 2)
  --max-foreign F     share of the machine others may use in a window (default 0.05)
  --patience N        seconds to wait for a quiet machine before a window (default 30)
  --open R,S          open arrivals at these shares of the capacity (default 0.7,1,1.5,2; "" for none)
  --open-children N   PHP processes under open arrivals (default 4)
  --open-rounds N     rounds of open arrivals (default 1)
  --open-seconds N    length of a window of open arrivals (default 60)
  --deadline N        ms after which an open client leaves (default 2000)
  --grace N           ms that Fairlead lets an open request wait (default 500)
  --classes           one more open arm, with [[admission.rules]]: the slow page in a class below
  --php-fpm FILE      php-fpm binary of every arm
  --fairlead DIR      the Fairlead to measure (default: this repository)
  --json FILE         write everything that was measured
  --svg FILE          draw the waits
  --image PATH        the drawing's address in the Markdown (default its file name)
  --keep              keep the configuration and logs of the arms

Ends with 0 when all gates hold, 1 when the harness cannot be believed, 2 when a gate does not hold.
`;

export interface Options extends Trust {
  readonly pages: readonly Page[];
  readonly control: boolean;
  readonly runtime: string;
  readonly clients: number;
  readonly children: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly laps: number;
  readonly answers: number;
  readonly warmup: number;
  readonly prewarm: number;
  readonly open: readonly number[];
  readonly openChildren: number;
  readonly openRounds: number;
  readonly openSeconds: number;
  readonly deadline: number;
  readonly grace: number;
  readonly classes: boolean;
  readonly phpFpm: string | undefined;
  readonly fairlead: string;
  readonly json: string | undefined;
  readonly svg: string | undefined;
  readonly image: string | undefined;
  readonly keep: boolean;
}

export function parseOptions(args: readonly string[]): Options | "help" {
  const { values: v } = parseArgs({
    args: [...args],
    options: {
      ...COMMON,
      pages: text(PAGES.map((page) => page.name).join()),
      arms: text("fifo,barge,nginx"),
      runtime: text("bun"),
      clients: text("100"),
      children: text("2"),
      rounds: text("3"),
      seconds: text("8"),
      laps: text("20"),
      answers: text("4000"),
      warmup: text("2"),
      prewarm: text("10"),
      retries: text("2"),
      "max-foreign": text("0.05"),
      patience: text("30"),
      open: text("0.7,1,1.5,2"),
      "open-children": text("4"),
      "open-rounds": text("1"),
      "open-seconds": text("60"),
      deadline: text("2000"),
      grace: text("500"),
      classes: FLAG,
      "php-fpm": OPTIONAL,
      svg: OPTIONAL,
      image: OPTIONAL,
    },
  });
  if (v.help) return "help";
  const children = number("children", v.children);
  const clients = number("clients", v.clients, { least: 2 });
  // Without a queue there is no order to measure.
  if (clients < 2 * children) {
    throw new Error(`--clients is ${clients}, expected at least twice the ${children} children`);
  }
  return {
    pages: pick("page", PAGES, v.pages),
    control: pick("arm", ["fifo", "barge", "nginx"], v.arms).includes("nginx"),
    runtime: pick("runtime", ["bun", "deno", "binary"], v.runtime)[0] ?? "bun",
    clients,
    children,
    rounds: number("rounds", v.rounds),
    seconds: number("seconds", v.seconds, { least: 0, whole: false }),
    laps: number("laps", v.laps),
    answers: number("answers", v.answers, { least: 0 }),
    warmup: number("warmup", v.warmup, { least: 0, whole: false }),
    prewarm: number("prewarm", v.prewarm, { least: 0, whole: false }),
    ...trustOf(v),
    open: numbers("open", v.open, { least: 0.01, whole: false }),
    openChildren: number("open-children", v["open-children"], { least: 2 }),
    openRounds: number("open-rounds", v["open-rounds"]),
    openSeconds: number("open-seconds", v["open-seconds"], { whole: false }),
    deadline: number("deadline", v.deadline),
    grace: number("grace", v.grace, { least: 0 }),
    classes: v.classes,
    phpFpm: v["php-fpm"],
    fairlead: resolve(v.fairlead),
    json: v.json,
    svg: v.svg,
    image: v.image,
    keep: v.keep,
  };
}
