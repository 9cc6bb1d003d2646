import type { Frame } from "../figures/frame.ts";
import type { Lane, Processes } from "../figures/lanes.ts";
import { showCount, showRate, showSeconds } from "../figures/units.ts";
import { showQuantiles } from "../figures/words.ts";
import { chart } from "./chart.ts";
import { type ElementNode, h } from "./node.ts";
import { facts, folded, panel, slots } from "./parts.ts";
import type { View } from "./view.ts";

/** Waiters that are shown of a line. */
const mostWaiters = 10;

/** Each line, and what it leads to. */
export function lanesPanel(view: View, { lanes }: Frame): ElementNode | undefined {
  if (lanes.length === 0) return undefined;
  return panel(
    "lanes",
    "Lines and PHP processes",
    lanes.map((lane) => card(view, lane)),
  );
}

function card(view: View, lane: Lane): ElementNode {
  const { name, limit, inUse, queued, processes, waiting, fairness } = lane;
  const classes = lane.classes.filter((one) => one.queued > 0);
  return h(
    "article",
    { id: `lane-${name}`, class: "card" },
    h("h3", {}, name, lane.overloaded && h("span", { class: "badge" }, "overloaded")),
    processes === undefined ? permits(lane) : strip(processes),
    facts(
      ["permits in use", `${showCount(inUse)} of ${showCount(limit)}`],
      ["in line", showCount(queued)],
      ["oldest wait", queued === 0 ? "nobody waits" : showSeconds(lane.oldestWait)],
      classes.length === 0
        ? undefined
        : ["classes in line", classes.map((one) => `${showCount(one.queued)} ${one.name}`).join(", ")],
      ["let in", showRate(lane.admitted.perSecond)],
      ["waiting p50 / p90 / p99", showQuantiles(waiting)],
      processes && ["executing p50 / p90 / p99", showQuantiles(processes.execution)],
      fairness === undefined ? undefined : ["wait, against an ideal line", `${fairness.toFixed(2)} times`],
      (processes?.waiting ?? 0) > 0 ? ["wait for a new process", showCount(processes?.waiting)] : undefined,
      (processes?.bootFailures ?? 0) > 0 ? ["failed boots", showCount(processes?.bootFailures)] : undefined,
    ),
    h(
      "div",
      { class: "charts" },
      chart({
        title: `Running and in line: ${name}`,
        note: `requests; ${showCount(limit)} may run`,
        show: showCount,
        time: view.time,
        least: limit,
        series: [
          { name: "run", style: "one", points: series(view, name, (found) => found.inUse) },
          { name: "in line", style: "two", points: series(view, name, (found) => found.queued) },
        ],
      }),
    ),
    waiters(view, lane),
  );
}

function series({ history }: View, name: string, pick: (lane: Lane) => number) {
  return history.series(({ lanes }) => {
    const found = lanes.find((lane) => lane.name === name);
    return found && pick(found);
  });
}

function strip({ busy, idle, starting, others }: Processes): ElementNode {
  return labelled("processes", [
    { name: "busy", style: "busy", count: busy },
    { name: "idle", style: "idle", count: idle },
    { name: "starting", style: "starting", count: starting },
    { name: "spare or ending", style: "other", count: others },
  ]);
}

function permits({ limit, inUse }: Lane): ElementNode {
  return labelled("permits", [
    { name: "in use", style: "busy", count: inUse },
    { name: "free", style: "idle", count: Math.max(0, limit - inUse) },
  ]);
}

/** A strip of slots, and in words what its marks are. */
export function labelled(
  what: string,
  parts: readonly { readonly name: string; readonly style: string; readonly count: number }[],
): ElementNode {
  return h(
    "div",
    { class: "strip" },
    slots(what, parts),
    h(
      "ul",
      { class: "legend" },
      parts.filter(({ count }, i) => i < 2 || count > 0).map(({ name, style, count }) =>
        h("li", {}, h("i", { class: `slot ${style}`, "aria-hidden": "true" }), `${name} `, h("b", {}, showCount(count)))
      ),
    ),
  );
}

function waiters({ answers }: View, { name }: Lane): ElementNode | undefined {
  const gate = answers.admission?.gates.find((one) => one.name === name);
  if (gate === undefined) return undefined;
  const rows = gate.waiting.map((one, i) => [
    String(i + 1),
    showSeconds(one.waited_ms / 1000),
    one.class,
    one.key ?? "–",
    String(one.weight),
  ]);
  return folded(`waiters-${name}`, "Who waits", {
    caption: "First in line",
    head: ["place", "waits for", "class", "key", "weight"],
    rows: rows.slice(0, mostWaiters),
    all: rows.length + gate.not_shown,
  });
}
