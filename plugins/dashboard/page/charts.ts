import type { Frame } from "../figures/frame.ts";
import type { Quantiles } from "../figures/span.ts";
import { statusClasses } from "../figures/traffic.ts";
import { showBytes, showPercent, showRate, showSeconds } from "../figures/units.ts";
import { showQuantile } from "../figures/words.ts";
import { niceBytes } from "./axis.ts";
import { chart } from "./chart.ts";
import { type ElementNode, h } from "./node.ts";
import type { View } from "./view.ts";

/** Requests, and where their time goes: waiting apart from executing. */
export function mainCharts({ history, time }: View): ElementNode {
  const seen = statusClasses.filter((status) =>
    ["2xx", "5xx"].includes(status) || history.total((frame) => frame.traffic.byStatus[status].increase) > 0
  );
  return h(
    "div",
    { class: "charts" },
    chart({
      title: "Requests",
      note: "a second, by class of status",
      stacked: true,
      show: showRate,
      time,
      series: seen.map((status) => ({
        name: status === "none" ? "no answer" : status,
        style: `s${status}`,
        points: history.series((frame) => frame.traffic.byStatus[status].perSecond),
      })),
    }),
    quantileChart("Waiting", "in line for a permit, of those let in", { history, time }, (frame) => frame.waiting),
    quantileChart("Executing", "in PHP, without the wait before it", { history, time }, (frame) => frame.execution),
  );
}

/** A chart of the median and the tail of something that takes time. */
export function quantileChart(
  title: string,
  note: string,
  { history, time }: Pick<View, "history" | "time">,
  pick: (frame: Frame) => Quantiles | undefined,
): ElementNode {
  return chart({
    title,
    note,
    show: showSeconds,
    time,
    least: 0.001,
    series: (["p99", "p90", "p50"] as const).map((name) => ({
      name,
      style: name,
      points: history.series((frame) => pick(frame)?.[name]?.value),
      newest: history.last && showQuantile(pick(history.last)?.[name]),
    })),
  });
}

/** What the server's own process takes. */
export function hostCharts({ history, time }: View): ElementNode {
  return h(
    "div",
    { class: "charts" },
    chart({
      title: "CPU",
      note: "share of one CPU, without PHP",
      show: showPercent,
      time,
      least: 0.1,
      series: [{ name: "server", style: "one", points: history.series(({ host }) => host.cpu.perSecond) }],
    }),
    chart({
      title: "Memory",
      note: "of the server, without PHP",
      show: showBytes,
      top: niceBytes,
      time,
      series: [
        { name: "resident", style: "one", points: history.series(({ host }) => host.resident) },
        { name: "JavaScript heap", style: "two", points: history.series(({ host }) => host.heapUsed) },
      ],
    }),
    chart({
      title: "Event-loop lag",
      note: "how late the server comes to an event",
      show: showSeconds,
      time,
      least: 0.01,
      series: [
        { name: "longest", style: "one", points: history.series(({ host }) => host.lagMax) },
        { name: "p99 of 10 s", style: "two", points: history.series(({ host }) => host.lag.p99?.value) },
      ],
    }),
  );
}
