/**
 * The command line of the harness.
 *
 * @module
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { COMMON, number, numbers, OPTIONAL, pickSome, text } from "../support/options.ts";
import { type Trust, trustOf } from "../support/trust.ts";
import type { Arm } from "./arms/arm.ts";
import { FAIRLEAD_ARMS } from "./arms/fairlead.ts";
import { NGINX_ARMS } from "./arms/nginx.ts";
import { type Page, PAGES } from "./pages.ts";

export const ARMS: readonly Arm[] = [...NGINX_ARMS, ...FAIRLEAD_ARMS];

export const USAGE: string = `bun bench/http/run.ts [options]

  --arms A,B          servers to compare; the first is the control (default nginx,fairlead-bun)
                      ${ARMS.map((arm) => arm.name).join(", ")}
  --pages P,Q         ${PAGES.map((page) => page.name).join(", ")} (default tiny,half,sleep)
  --clients N,M       keep-alive clients (default 1,32,100)
  --children N        PHP children of every arm (default 2)
  --rounds N          interleaved rounds (default 3)
  --seconds N         length of a window, whole seconds (default 4)
  --warmup N          warm-up before each window, whole seconds (default 1)
  --prewarm N         seconds of load on every server before the first round (default 10)
  --retries N         times an untrustworthy window is measured again (default 2)
  --max-foreign F     share of the machine others may use in a window (default 0.1)
  --patience N        seconds to wait for a quiet machine before a window (default 30)
  --wordpress DIR     document root of a prepared WordPress, for the page "wordpress"
  --host NAME         Host header, when the site insists on one
  --php-fpm FILE      php-fpm binary of every arm (default php-fpm8.2 to 8.5, or php-fpm)
  --fairlead DIR      the Fairlead to measure (default: this repository)
  --toml TEXT         appended to the configuration of every Fairlead arm
  --json FILE         write everything that was measured
  --keep              keep the configuration and logs of the arms
`;

export interface Options extends Trust {
  readonly arms: readonly Arm[];
  readonly pages: readonly Page[];
  readonly clients: readonly number[];
  readonly children: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly warmup: number;
  readonly prewarm: number;
  readonly wordpress: string | undefined;
  readonly host: string | undefined;
  /** Looked for on PATH when absent. */
  readonly phpFpm: string | undefined;
  readonly fairlead: string;
  readonly toml: string;
  readonly json: string | undefined;
  readonly keep: boolean;
}

export function parseOptions(args: readonly string[]): Options | "help" {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...COMMON,
      arms: text("nginx,fairlead-bun"),
      pages: text("tiny,half,sleep"),
      clients: text("1,32,100"),
      children: text("2"),
      rounds: text("3"),
      seconds: text("4"),
      warmup: text("1"),
      prewarm: text("10"),
      retries: text("2"),
      "max-foreign": text("0.1"),
      patience: text("30"),
      wordpress: OPTIONAL,
      host: OPTIONAL,
      "php-fpm": OPTIONAL,
      toml: text(""),
    },
  });
  if (values.help) return "help";
  const pages = pickSome("page", PAGES, values.pages);
  if (pages.some((page) => page.site === "wordpress") && values.wordpress === undefined) {
    throw new Error(`The page "wordpress" needs --wordpress DIR, a document root that answers with WordPress`);
  }
  return {
    arms: pickSome("arm", ARMS, values.arms),
    pages,
    clients: numbers("clients", values.clients),
    children: number("children", values.children),
    rounds: number("rounds", values.rounds),
    seconds: number("seconds", values.seconds),
    warmup: number("warmup", values.warmup),
    prewarm: number("prewarm", values.prewarm, { least: 0 }),
    ...trustOf(values),
    wordpress: values.wordpress === undefined ? undefined : resolve(values.wordpress),
    host: values.host,
    phpFpm: values["php-fpm"],
    fairlead: resolve(values.fairlead),
    toml: values.toml,
    json: values.json,
    keep: values.keep,
  };
}
