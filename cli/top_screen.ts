import type { Frame } from "../plugins/dashboard/figures/frame.ts";
import { inLine, overtakesOf, turnedAway } from "../plugins/dashboard/figures/totals.ts";
import { statusClasses } from "../plugins/dashboard/figures/traffic.ts";
import { showBytes, showCount, showPercent, showRate, showSeconds } from "../plugins/dashboard/figures/units.ts";
import type { Watch } from "../plugins/dashboard/figures/watch.ts";
import type { Ready, Whoami } from "../plugins/dashboard/page/answers.ts";
import { plain } from "./db_table.ts";
import { bulkheadLines, databaseLines, laneLines, quantiles, row, type TopLine } from "./top_parts.ts";

/** What is drawn. */
export interface TopView {
  readonly watch: Watch;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly frame?: Frame | undefined;
  readonly ready?: Ready | undefined;
  readonly whoami?: Whoami | undefined;
  /** Why there are no new numbers. */
  readonly problem?: string;
}

/** Draws everything as lines of any width. Nothing of them is a command to a terminal. */
export function drawTop(view: TopView): readonly TopLine[] {
  const { frame } = view;
  const lines = [title(view), ...status(view), ...(frame === undefined ? [] : numbers(view, frame))];
  return lines.map(({ text, ...line }) => ({ text: plain(text).trimEnd(), ...line }));
}

function title({ frame, whoami, now }: TopView): TopLine {
  const startedAt = frame?.host.startedAt;
  const parts = [
    `Fairlead ${whoami?.version ?? frame?.host.version ?? ""}`,
    whoami?.runtime ?? frame?.host.runtime,
    whoami && `pid ${whoami.pid}`,
    startedAt === undefined ? undefined : `up for ${showSeconds(Math.max(0, now / 1000 - startedAt))}`,
  ];
  return { text: parts.filter((part) => part !== undefined).join(", "), tone: "head" };
}

function status({ ready, problem }: TopView): TopLine[] {
  if (problem !== undefined) return [{ text: problem, tone: "bad" }];
  if (ready === undefined) return [];
  if (ready.ready) return [{ text: "ready", tone: "good" }];
  const reasons = Object.entries(ready.parts).filter(([, why]) => why !== "ready").map((part) => part.join(": "));
  return [{ text: `not ready: ${reasons.join("; ")}`, tone: "bad" }];
}

function numbers({ watch: { history } }: TopView, frame: Frame): TopLine[] {
  const { traffic, host, lanes, bulkheads, databases } = frame;
  const seen = statusClasses.filter((status) => traffic.byStatus[status].total > 0)
    .map((status) => `${status} ${showRate(traffic.byStatus[status].perSecond)}`);
  const line = inLine(frame);
  const refused = turnedAway(frame), lately = history.total((past) => turnedAway(past).increase);
  const overtakes = overtakesOf(frame).total;
  const lag = host.lagMax ?? 0;
  return [
    row("requests", [showRate(traffic.all.perSecond), ...seen, `${showCount(traffic.inFlight)} in flight`]),
    row("waiting", quantiles(frame.waiting)),
    row("executing", quantiles(frame.execution)),
    row("in line", [
      line.count === 0 ? "nobody" : `${showCount(line.count)}, the oldest for ${showSeconds(line.oldest)}`,
    ]),
    {
      ...row("turned away", [
        showRate(refused.perSecond),
        `${showCount(lately)} lately`,
        `${showCount(refused.total)} since the start`,
      ]),
      ...(lately > 0 ? { tone: "warn" } : undefined),
    },
    { ...row("overtakes", [showCount(overtakes)]), ...(overtakes > 0 ? { tone: "bad" } : undefined) },
    {
      ...row("server", [
        `CPU ${showPercent(host.cpu.perSecond)}`,
        `memory ${showBytes(host.resident)}`,
        `event-loop lag ${showSeconds(host.lagMax)}`,
        `${showCount(host.openFiles)} of ${showCount(host.maxFiles)} files`,
      ]),
      ...(lag > 0.25 ? { tone: "warn" } : undefined),
    },
    ...lanes.flatMap(laneLines),
    ...bulkheads.flatMap(bulkheadLines),
    ...databases.flatMap(databaseLines),
  ];
}
