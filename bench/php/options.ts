/**
 * The command line of the harness.
 *
 * @module
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { COMMON, FLAG, number, numbers, OPTIONAL, pick, pickSome, text } from "../support/options.ts";
import { type Trust, trustOf } from "../support/trust.ts";
import { type Arm, ARMS } from "./arms.ts";
import { type Page, PAGES } from "./sites.ts";

export const USAGE: string = `bun bench/php/run.ts [options]

  --arms A,B          servers; the first is the control (default ${ARMS.map((arm) => arm.name).join(",")})
  --pages P,Q         ${PAGES.map((page) => page.name).join(", ")} (default tiny,half)
  --clients N,M       keep-alive clients of the closed loop (default 1,32,100)
  --open F,G          open-loop arrivals, as shares of the arm's capacity (default 0.7,1,1.5; "" for none)
  --open-pages P      pages of the open loop (default: those of --pages but tiny)
  --children N        PHP processes of every arm (default 2)
  --rounds N          interleaved rounds (default 3)
  --seconds N         length of a window, whole seconds (default 4)
  --warmup N          warm-up before each window, whole seconds (default 1)
  --prewarm N         seconds of load on every server before the first round (default 5)
  --retries N         times an untrustworthy window is measured again (default 2)
  --max-foreign F     share of the machine others may use in a window (default 0.1)
  --patience N        seconds to wait for a quiet machine before a window (default 30)
  --grace N           ms that Fairlead lets a request wait (default 500)
  --deadline N        ms that a client of the open loop waits (default 1000)
  --symfony DIR       the application of the Symfony pages (default: the tests', made by composer)
  --laravel DIR       an application with the routes / and /api/json, and a worker-franken.php; needed for Laravel pages
  --octane            the Laravel application has Octane: measure its own workers, FrankenPHP's and RoadRunner's
  --fairlead DIR      the Fairlead to measure (default: this repository)
  --json FILE         write everything that was measured
  --keep              keep the configuration and logs of the arms
`;

export interface Options extends Trust {
  readonly arms: readonly Arm[];
  readonly pages: readonly Page[];
  readonly clients: readonly number[];
  readonly open: readonly number[];
  readonly openPages: readonly Page[];
  readonly children: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly warmup: number;
  readonly prewarm: number;
  readonly grace: number;
  readonly deadline: number;
  readonly symfony: string | undefined;
  readonly laravel: string | undefined;
  readonly octane: boolean;
  readonly fairlead: string;
  readonly json: string | undefined;
  readonly keep: boolean;
}

export function parseOptions(args: readonly string[]): Options | "help" {
  const { values: v } = parseArgs({
    args: [...args],
    options: {
      ...COMMON,
      arms: text(ARMS.map((arm) => arm.name).join(",")),
      pages: text("tiny,half"),
      clients: text("1,32,100"),
      open: text("0.7,1,1.5"),
      "open-pages": OPTIONAL,
      children: text("2"),
      rounds: text("3"),
      seconds: text("4"),
      warmup: text("1"),
      prewarm: text("5"),
      retries: text("2"),
      "max-foreign": text("0.1"),
      patience: text("30"),
      grace: text("500"),
      deadline: text("1000"),
      symfony: OPTIONAL,
      laravel: OPTIONAL,
      octane: FLAG,
    },
  });
  if (v.help) return "help";
  const pages = pickSome("page", PAGES, v.pages);
  if (v.laravel === undefined && pages.some((page) => page.site === "laravel")) {
    throw new Error("Laravel's pages need --laravel DIR");
  }
  const dir = (path: string | undefined) => path === undefined ? undefined : resolve(path);
  return {
    arms: pickSome("arm", ARMS, v.arms),
    pages,
    clients: numbers("clients", v.clients),
    open: numbers("open", v.open, { least: 0, whole: false }),
    openPages: v["open-pages"] === undefined
      ? pages.filter((page) => page.name !== "tiny")
      : pick("page", PAGES, v["open-pages"]),
    children: number("children", v.children),
    rounds: number("rounds", v.rounds),
    seconds: number("seconds", v.seconds),
    warmup: number("warmup", v.warmup),
    prewarm: number("prewarm", v.prewarm, { least: 0 }),
    ...trustOf(v),
    grace: number("grace", v.grace, { least: 0 }),
    deadline: number("deadline", v.deadline),
    symfony: dir(v.symfony),
    laravel: dir(v.laravel),
    octane: v.octane,
    fairlead: resolve(v.fairlead),
    json: v.json,
    keep: v.keep,
  };
}
