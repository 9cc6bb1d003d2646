/**
 * The command line of the harness.
 *
 * @module
 */
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
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

export interface Options {
  readonly arms: readonly Arm[];
  readonly pages: readonly Page[];
  readonly clients: readonly number[];
  readonly children: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly warmup: number;
  readonly prewarm: number;
  readonly retries: number;
  readonly maxForeign: number;
  readonly patience: number;
  readonly wordpress: string | undefined;
  readonly host: string | undefined;
  /** Looked for on PATH when absent. */
  readonly phpFpm: string | undefined;
  readonly fairlead: string;
  readonly toml: string;
  readonly json: string | undefined;
  readonly keep: boolean;
}

function pick<T extends { readonly name: string }>(kind: string, known: readonly T[], names: string): T[] {
  return names.split(",").map((name) => {
    const found = known.find((one) => one.name === name.trim());
    if (found !== undefined) return found;
    throw new Error(`Unknown ${kind} "${name}", expected one of ${known.map((one) => one.name).join(", ")}`);
  });
}

function number(name: string, text: string, { least = 1, whole = true } = {}): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value < least || (whole && !Number.isInteger(value))) {
    throw new Error(`--${name} is "${text}", expected a ${whole ? "whole " : ""}number of at least ${least}`);
  }
  return value;
}

export function parseOptions(args: readonly string[]): Options | "help" {
  const { values } = parseArgs({
    args: [...args],
    options: {
      arms: { type: "string", default: "nginx,fairlead-bun" },
      pages: { type: "string", default: "tiny,half,sleep" },
      clients: { type: "string", default: "1,32,100" },
      children: { type: "string", default: "2" },
      rounds: { type: "string", default: "3" },
      seconds: { type: "string", default: "4" },
      warmup: { type: "string", default: "1" },
      prewarm: { type: "string", default: "10" },
      retries: { type: "string", default: "2" },
      "max-foreign": { type: "string", default: "0.1" },
      patience: { type: "string", default: "30" },
      wordpress: { type: "string" },
      host: { type: "string" },
      "php-fpm": { type: "string" },
      fairlead: { type: "string", default: fileURLToPath(new URL("../../", import.meta.url)) },
      toml: { type: "string", default: "" },
      json: { type: "string" },
      keep: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return "help";
  const pages = pick("page", PAGES, values.pages);
  if (pages.some((page) => page.site === "wordpress") && values.wordpress === undefined) {
    throw new Error(`The page "wordpress" needs --wordpress DIR, a document root that answers with WordPress`);
  }
  return {
    arms: pick("arm", ARMS, values.arms),
    pages,
    clients: values.clients.split(",").map((text) => number("clients", text)),
    children: number("children", values.children),
    rounds: number("rounds", values.rounds),
    seconds: number("seconds", values.seconds),
    warmup: number("warmup", values.warmup),
    prewarm: number("prewarm", values.prewarm, { least: 0 }),
    retries: number("retries", values.retries, { least: 0 }),
    maxForeign: number("max-foreign", values["max-foreign"], { least: 0, whole: false }),
    patience: number("patience", values.patience, { least: 0 }),
    wordpress: values.wordpress === undefined ? undefined : resolve(values.wordpress),
    host: values.host,
    phpFpm: values["php-fpm"],
    fairlead: resolve(values.fairlead),
    toml: values.toml,
    json: values.json,
    keep: values.keep,
  };
}
