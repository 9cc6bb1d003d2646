import * as z from "zod";
import { duration } from "../../core/config/units.ts";
import { classes } from "./classes.ts";
import { type KeySource, keySource } from "./key_source.ts";
import type { Rule } from "./rules.ts";

const key = z.string().transform((text, ctx) => {
  const source = keySource(text);
  if (source !== undefined) return source;
  ctx.addIssue({
    code: "custom",
    message: 'expected "none", "client", "host", "route", "header:NAME" or "cookie:NAME"',
  });
  return z.NEVER;
}).meta({ title: "key" });

const cookie = z.string().transform((text, ctx) => {
  const source = keySource(text);
  if (source?.kind === "cookie") return source.name;
  if (source?.kind === "none") return undefined;
  ctx.addIssue({ code: "custom", message: 'expected "none" or "cookie:NAME"' });
  return z.NEVER;
}).meta({ title: '`"none"`, `"cookie:NAME"`' });

const some = (item: z.ZodString = z.string()) =>
  z.union([item, z.array(item).min(1)]).transform((value) => typeof value === "string" ? [value] : value);
const share = (fallback: number) => z.number().positive().max(1e6).default(fallback);

const rule = z.strictObject({
  path: some(z.string().startsWith("/")).optional().describe('Paths, such as "/api/**", or an array of them.'),
  host: some().optional().describe('Hosts, such as "*.example.org", or an array of them.'),
  method: some(z.string().regex(/^[A-Za-z-]+$/, "expected a method")).optional().describe("Methods."),
  header: some(z.string().regex(/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?::.*)?$/, 'expected "NAME" or "NAME: VALUE"'))
    .optional()
    .describe('"NAME": it is there. "NAME: VALUE": it is so, with * for anything. All of an array must be.'),
  class: z.enum(classes).optional().describe("How much it matters that these are let in; critical when absent."),
  key: key.optional().describe("Whose share these take; admission.key when absent."),
  weight: z.int().min(1).max(10_000).optional().describe("Permits that each of these takes; 1 when absent."),
  exempt: z.boolean().optional().describe("These never wait and take no permit. For health checks."),
});

/** The `[admission]` table. */
export interface AdmissionSettings {
  readonly discipline: "fifo" | "barge" | "lifo" | "adaptive_lifo";
  readonly max_queue: number;
  readonly grace: number;
  readonly codel: boolean;
  readonly threshold: boolean;
  readonly predict: boolean;
  readonly deadlines: "trusted" | "all" | "off";
  readonly hints: boolean;
  readonly key: KeySource;
  readonly key_limit: number;
  readonly key_queue: number;
  readonly fair: "count" | "time";
  readonly shares: Readonly<Record<(typeof classes)[number], number>>;
  readonly adaptive: "off" | "shadow" | "on";
  /** The cookie's name. */
  readonly serialize: string | undefined;
  readonly reserve: number;
  readonly rules: readonly Rule[];
}

export const admissionTable: z.ZodType<AdmissionSettings> = z.strictObject({
  discipline: z.enum(["fifo", "barge", "lifo", "adaptive_lifo"]).default("fifo").describe(
    "fifo serves in order of arrival. lifo serves the newest first, adaptive_lifo does while a line stands: sheddable classes only, " +
      "where classes are told apart. barge lets newcomers race with who waits, to show what that costs.",
  ),
  max_queue: z.int().min(0).default(1000).describe("Requests that may wait (503 above)."),
  grace: duration("10s").describe("How long a request may wait (503 after); 0 lets none wait."),
  codel: z.boolean().default(false)
    .describe("Turn away who has waited long in a line that has not been short for a while (503)."),
  threshold: z.boolean().default(false)
    .describe("Turn sheddable classes away before they queue, while the gate is overloaded (503)."),
  predict: z.boolean().default(true)
    .describe(
      "Turn away at once who would wait in vain by the measured drain rate: until its deadline, or for all of grace (503).",
    ),
  deadlines: z.enum(["trusted", "all", "off"]).default("trusted").describe(
    "Whose X-Request-Deadline, grpc-timeout and x-envoy-expected-rq-timeout-ms also end running work: trusted proxies', " +
      "everybody's. Those of others end their wait only.",
  ),
  hints: z.boolean().default(false)
    .describe("Lower a request's class where it asks for that itself: Priority: u=5 to u=7, Sec-Purpose: prefetch."),
  key: key.prefault("none").describe(
    "Whose requests take turns: none, client, host, route, header:NAME or cookie:NAME.",
  ),
  key_limit: z.int().min(0).default(0).describe("Permits that one key may hold at once (429 above); 0: no cap."),
  key_queue: z.int().min(0).default(0)
    .describe("Requests of one key that may wait (429 above); 0: no bound. With key_limit: those above it wait."),
  fair: z.enum(["count", "time"]).default("count")
    .describe("What a key's turn is measured in: permits, or the time that they are out."),
  shares: z.strictObject({
    critical_plus: share(8),
    critical: share(4),
    sheddable_plus: share(2),
    sheddable: share(1),
  }).prefault({}).describe("Share of the permits that each class has while all of them wait."),
  adaptive: z.enum(["off", "shadow", "on"]).default("off")
    .describe("Find out how many permits below a pool's size are of use; shadow only tells, in the metrics."),
  serialize: cookie.prefault("none")
    .describe("Let one request of a session run at a time, told by a cookie; the others wait without a permit."),
  reserve: z.int().min(0).default(0)
    .describe("Permits kept for requests that the application sends to itself, with the header X-Fairlead-Self."),
  rules: z.array(rule).default([]).describe("What requests are at their gate; the first rule that matches counts."),
}).superRefine((table, ctx) => {
  const settings = table as AdmissionSettings;
  const { discipline, grace, key_limit, key_queue } = settings;
  const wrong = (key: string, message: string) => ctx.addIssue({ code: "custom", path: [key], message });
  if (discipline.endsWith("lifo") && grace === 0) {
    wrong("grace", "expected a time above 0: without a line there is no order");
  }
  if (differences(settings).keyed) return;
  if (key_limit > 0) wrong("key_limit", 'expected a key too, such as key = "client"');
  if (key_queue > 0 && settings.serialize === undefined) {
    wrong("key_queue", 'expected a key too, such as key = "client"');
  }
}) as z.ZodType<AdmissionSettings>;

/** Whether classes, and keys, are told apart, and whether requests differ at all. */
export function differences(settings: AdmissionSettings): { classed: boolean; keyed: boolean; alike: boolean } {
  const { rules, hints, key, threshold, codel, discipline, adaptive, serialize, reserve } = settings;
  const classed = hints || threshold || rules.some((rule) => rule.class !== undefined);
  const keyed = key.kind !== "none" || rules.some((rule) => rule.key !== undefined && rule.key.kind !== "none");
  const alike = !classed && !keyed && rules.length === 0 && !codel && !discipline.endsWith("lifo") &&
    adaptive === "off" && serialize === undefined && reserve === 0;
  return { classed, keyed, alike };
}
