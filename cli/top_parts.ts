import type { Bulkhead } from "../plugins/dashboard/figures/bulkheads.ts";
import type { Database } from "../plugins/dashboard/figures/databases.ts";
import type { Lane } from "../plugins/dashboard/figures/lanes.ts";
import type { Quantiles } from "../plugins/dashboard/figures/span.ts";
import { showCount, showRate, showSeconds } from "../plugins/dashboard/figures/units.ts";
import { meaning, showGrowth, showQuantile, showReasons } from "../plugins/dashboard/figures/words.ts";

/** One line, and how it is meant. */
export interface TopLine {
  readonly text: string;
  readonly tone?: "good" | "warn" | "bad" | "head" | "faint";
}

/** A name, and what is said of it. */
export function row(name: string, values: readonly string[]): TopLine {
  return { text: `  ${name.padEnd(12)}${values.join(", ")}` };
}

/** The median and the tail. */
export function quantiles({ p50, p90, p99 }: Quantiles): readonly string[] {
  return [`p50 ${showQuantile(p50)}`, `p90 ${showQuantile(p90)}`, `p99 ${showQuantile(p99)}`];
}

/** As many marks as there are things, or as fit. */
function strip(parts: readonly (readonly [mark: string, count: number])[]): string {
  const all = parts.reduce((sum, [, count]) => sum + count, 0);
  const scale = Math.min(1, 40 / Math.max(1, all));
  return `[${parts.map(([mark, count]) => mark.repeat(Math.round(count * scale))).join("")}]`;
}

/** A line, and the PHP processes it leads to. */
export function laneLines(lane: Lane): TopLine[] {
  const { name, limit, inUse, queued, processes, refusals, overloaded } = lane;
  const classes = lane.classes.filter((one) => one.queued > 0).map((one) => `${showCount(one.queued)} ${one.name}`);
  const slots = processes === undefined
    ? `${strip([["#", inUse], ["-", Math.max(0, limit - inUse)]])} ${showCount(inUse)} of ${showCount(limit)} in use`
    : `${strip([["#", processes.busy], ["-", processes.idle], ["~", processes.starting]])} ${
      showCount(processes.busy)
    } busy, ${showCount(processes.idle)} idle, ${showCount(processes.starting)} starting`;
  return [
    { text: "" },
    { text: `line ${name}${overloaded ? ", overloaded" : ""}`, tone: overloaded ? "warn" : "head" },
    row("", [slots]),
    row("in line", [
      queued === 0 ? "nobody" : `${showCount(queued)}, the oldest for ${showSeconds(lane.oldestWait)}`,
      ...(classes.length === 0 ? [] : [classes.join(", ")]),
    ]),
    row("waiting", quantiles(lane.waiting)),
    ...(processes === undefined ? [] : [
      row("executing", quantiles(processes.execution)),
      row("replaced", [showReasons(processes.restarts)]),
    ]),
    row("turned away", [refusals.map((one) => `${showGrowth(one)} ${meaning(one.label)}`).join(", ") || "nobody"]),
  ];
}

/** A bulkhead. */
export function bulkheadLines(one: Bulkhead): TopLine[] {
  const { name, limit, inUse, queued, refusals, lost } = one;
  return [
    { text: "" },
    { text: `bulkhead ${name}`, tone: "head" },
    row("", [
      `${strip([["#", inUse], ["-", Math.max(0, limit - inUse)]])} ${showCount(inUse)} of ${showCount(limit)} in use`,
    ]),
    row("in line", [queued === 0 ? "nobody" : `${showCount(queued)}, the oldest for ${showSeconds(one.oldestWait)}`]),
    row("waiting", quantiles(one.waiting)),
    row("turned away", [
      refusals.map((reason) => `${showGrowth(reason)} ${meaning(reason.label)}`).join(", ") || "nobody",
    ]),
    ...(lost.total > 0 ? [{ ...row("lost", [showGrowth(lost)]), tone: "bad" as const }] : []),
  ];
}

/** A pool of connections. */
export function databaseLines(database: Database): TopLine[] {
  const { name, up, limit, backends, clients, statements } = database;
  const open = backends.reduce((sum, { count }) => sum + count, 0);
  const states = (all: Database["clients"]) =>
    all.filter(({ count }) => count > 0).map((one) => `${showCount(one.count)} ${one.name}`).join(", ") || "none";
  return [
    { text: "" },
    { text: `database ${name}${up ? "" : ", DOWN"}`, tone: up ? "head" : "bad" },
    row("connections", [`${showCount(open)} of ${showCount(limit)}`, states(backends)]),
    row("sessions", [states(clients)]),
    row("waiting", quantiles(database.waiting)),
    row("statements", [
      showRate(statements.perSecond),
      `p99 ${showQuantile(database.statement.p99)}`,
      `${showGrowth(database.errors)} errors`,
    ]),
    row("answered", [
      database.learned.map((one) => `${showGrowth(one)} ${one.label}`).join(", ") || "none by the proxy",
    ]),
  ];
}
