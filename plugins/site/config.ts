/** The table `[site]` of the configuration. @module */
import { z } from "zod";
import { canonicalPath } from "../../core/http/path.ts";
import { type AccessRule, addressTest } from "./access_rules.ts";
import { capturePattern } from "./capture_pattern.ts";
import { nameProblem, valueProblem } from "./header_names.ts";
import type { HeaderRule } from "./header_rules.ts";
import { encodePath, parseTarget } from "./location.ts";
import { redirectLoops } from "./redirect_loops.ts";
import type { RedirectRule } from "./redirects.ts";

/** What the table says, once it is checked. */
export interface SiteConfig {
  readonly headers: readonly HeaderRule[];
  readonly redirects: readonly RedirectRule[];
  readonly access: readonly AccessRule<AuthSettings>[];
}

export interface AuthSettings {
  readonly realm: string;
  /** From the folder of the configuration file. */
  readonly users_file: string;
  readonly hide: boolean;
}

/** A pattern that no path is like would leave open what it was to close. */
function pathProblem(pattern: string): string | undefined {
  if (!pattern.startsWith("/")) return "must start with /, like /admin/**";
  const { sample } = capturePattern(pattern);
  if (/%[0-9a-f]{2}/i.test(pattern)) return "must be written decoded: a space is a space, not %20";
  return canonicalPath(encodePath(sample)) === sample
    ? undefined
    : "is like no path: they have no //, /./ and /../ left";
}

function checked(problem: (text: string) => string | undefined): z.ZodString {
  return z.string().superRefine((text, ctx) => {
    const message = problem(text);
    if (message !== undefined) ctx.addIssue({ code: "custom", message });
  });
}

const pattern = checked(pathProblem);
const host = z.array(z.string().regex(/^[A-Za-z0-9_.*?-]+$|^\[[0-9A-Fa-f:.]+\]$/, "must be a host without its port"))
  .min(1)
  .optional().describe("Hosts, where * stands for any part: all when absent");
const scheme = z.enum(["http", "https"]).optional();

const headers = z.record(z.string(), z.string()).superRefine((record, ctx) => {
  for (const [name, value] of Object.entries(record)) {
    const message = nameProblem(name) ?? valueProblem(value);
    if (message !== undefined) ctx.addIssue({ code: "custom", path: [name], message });
  }
}).transform((record) => Object.fromEntries(Object.entries(record).map(([name, value]) => [name.toLowerCase(), value])))
  .prefault({});

const headerRule = z.strictObject({
  match: pattern.default("/**").describe("Paths: * within a segment, ** across segments"),
  host,
  scheme: scheme.describe("Only for requests by http, or by https"),
  status: z.union([z.enum(["all", "success"]), z.array(z.int().min(200).max(599)).min(1)]).default("all")
    .describe('Of which answers: "all", "success" (2xx and 304), or a list of statuses. 304 counts as 200 too'),
  remove: z.array(checked(nameProblem).transform((name) => name.toLowerCase())).default([]).describe(
    "Headers to take away",
  ),
  set: headers.describe("Headers that replace what the application says"),
  default: headers.describe("Headers for where the application says nothing"),
  add: headers.describe("Headers beside what the application says"),
}).refine(
  ({ remove, ...sets }) => remove.length + [sets.set, sets.default, sets.add].flatMap(Object.keys).length > 0,
  "expected set, default, add or remove",
);

const redirectRule = z.strictObject({
  from: pattern.describe("Paths, captured: * and ** as $1, $2 and so on, a segment :name as $name"),
  host,
  scheme: scheme.describe("Only for requests by http, or by https"),
  to: z.string().describe(
    'A path, or an address: "/new/$1", "https://example.org$path", "https://$host$path". $path is the path, $host the host that was asked',
  ),
  status: z.union([301, 302, 303, 307, 308].map((status) => z.literal(status as 301))).default(302 as 301)
    .describe("301 and 308 are for ever, 302 and 307 for now; 307 and 308 keep the method and the body"),
  query: z.boolean().default(true).describe("Take the query along"),
}).superRefine(({ from, to }, ctx) => {
  const { names } = capturePattern(from);
  const taken = names.find((name, i) => names.indexOf(name) < i || name === "path" || name === "host");
  if (taken !== undefined) {
    return ctx.addIssue({ code: "custom", path: ["from"], message: `must not name two things ${taken}` });
  }
  try {
    parseTarget(to, names);
  } catch (error) {
    ctx.addIssue({ code: "custom", path: ["to"], message: (error as Error).message });
  }
});

const address = checked((text) => {
  try {
    addressTest([text]);
    return undefined;
  } catch {
    return 'expected an address, a range such as "10.0.0.0/8", "all" or "unix"';
  }
});

const accessRule = z.strictObject({
  match: pattern.describe("Paths, and what lies below them"),
  host,
  allow: z.array(address).min(1).optional().describe(
    'Addresses and ranges of clients, or "all": nobody else comes in (403)',
  ),
  deny: z.array(address).min(1).optional().describe(
    'Addresses and ranges of clients, or "all", who do not come in; before allow',
  ),
  auth: z.strictObject({
    realm: z.string().regex(/^[ !#-[\]-~]+$/, "must be printable ASCII without quotes").default("Restricted")
      .describe("What browsers call it when they ask for the password"),
    users_file: z.string().min(1).describe('File of users, as "htpasswd -B" makes it'),
    hide: z.boolean().default(false).describe("Keep the Authorization header from the application"),
  }).optional().describe("HTTP Basic authentication (401)"),
  satisfy: z.enum(["all", "any"]).default("all").describe(
    "Whether address and password must both be right, or one of them",
  ),
}).superRefine(({ allow, deny, auth, satisfy }, ctx) => {
  const byAddress = allow !== undefined || deny !== undefined;
  if (!byAddress && auth === undefined) {
    ctx.addIssue({
      code: "custom",
      message: 'expected allow, deny or auth; allow = ["all"] leaves open what later rules close',
    });
  } else if (satisfy === "any" && !(byAddress && auth !== undefined)) {
    ctx.addIssue({
      code: "custom",
      path: ["satisfy"],
      message: "expected auth, and allow or deny, of which one is enough",
    });
  }
});

export const config: z.ZodType<SiteConfig, unknown> = z.strictObject({
  headers: z.array(headerRule).default([]).describe(
    "Headers of all answers, of whoever gives them; every rule that matches counts",
  ),
  redirects: z.array(redirectRule).superRefine((rules, ctx) => {
    if (ctx.issues.length > 0) return;
    for (const { rule, trail } of redirectLoops(rules)) {
      const shown = trail.length > 4 ? [...trail.slice(0, 4), "…"] : trail;
      ctx.addIssue({
        code: "custom",
        path: [rule, "to"],
        message: `must come to an end, and leads ${shown.join(" -> ")}`,
      });
    }
  }).default([]).describe("Answered in the place of everything else; the first rule that matches counts"),
  access: z.array(accessRule).default([])
    .describe(
      "Who may come in, by address and password; the first rule that matches counts, and without one everybody may",
    ),
});
