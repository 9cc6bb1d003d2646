import type { Database, State } from "../figures/databases.ts";
import type { Frame } from "../figures/frame.ts";
import { showCount, showRate, showSeconds } from "../figures/units.ts";
import { showGrowth, showQuantiles, showReasons } from "../figures/words.ts";
import { chart } from "./chart.ts";
import { quantileChart } from "./charts.ts";
import { labelled } from "./lanes_panel.ts";
import { type ElementNode, h } from "./node.ts";
import { facts, panel, table } from "./parts.ts";
import type { View } from "./view.ts";

/** The pools of connections to databases. */
export function databasePanel(view: View, { databases }: Frame): ElementNode | undefined {
  if (databases.length === 0) return undefined;
  return panel("databases", "Database connections", databases.map((database) => card(view, database)));
}

function card(view: View, database: Database): ElementNode {
  const { name, up, limit, backends, clients, waiting, statement, statements, learned, resets } = database;
  const known = view.answers.pools?.databases.find((one) => one.name === name);
  const count = (states: readonly State[], state: string) => states.find((one) => one.name === state)?.count ?? 0;
  const open = backends.reduce((sum, one) => sum + one.count, 0);
  const answered = (kind: string) => learned.find(({ label }) => label === kind);
  const find = (frame: Frame) => frame.databases.find((one) => one.name === name);
  return h(
    "article",
    { id: `database-${name}`, class: "card" },
    h("h3", {}, name, !up && h("span", { class: "badge" }, "down")),
    known && h("p", { class: "note" }, [known.server, known.version].filter(Boolean).join(", ")),
    labelled("connections", [
      { name: "used", style: "busy", count: count(backends, "used") },
      { name: "idle", style: "idle", count: count(backends, "idle") },
      { name: "resetting", style: "starting", count: count(backends, "resetting") },
      { name: "connecting", style: "starting", count: count(backends, "connecting") },
      { name: "not open", style: "free", count: Math.max(0, limit - open) },
    ]),
    facts(
      ["connections", `${showCount(open)} of ${showCount(limit)}`],
      [
        "sessions of PHP",
        clients.filter((one) => one.count > 0).map((one) => `${showCount(one.count)} ${one.name}`).join(", ") || "none",
      ],
      ["oldest wait", database.oldestWait === 0 ? "nobody waits" : showSeconds(database.oldestWait)],
      ["waiting p50 / p90 / p99", showQuantiles(waiting)],
      ["statements", showRate(statements.perSecond)],
      ["statement p50 / p90 / p99", showQuantiles(statement)],
      ["SETs answered here", answered("set") ? showGrowth(answered("set")!) : "0"],
      ["reads answered here", answered("read") ? showGrowth(answered("read")!) : "0"],
      ["ends of sessions", showReasons(resets)],
      ["refused", showReasons(database.refusals)],
      ["errors of the server", showGrowth(database.errors)],
      ["slow statements", showGrowth(database.slow)],
    ),
    h(
      "div",
      { class: "charts" },
      chart({
        title: `Statements: ${name}`,
        note: "a second, that reached the server",
        show: showRate,
        time: view.time,
        series: [{
          name: "statements",
          style: "one",
          points: view.history.series((frame) => find(frame)?.statements.perSecond),
        }],
      }),
      quantileChart(`Waiting for a connection: ${name}`, "of those who got one", view, (frame) => find(frame)?.waiting),
    ),
    queries(view, name),
  );
}

function queries({ answers }: View, name: string): ElementNode | undefined {
  const found = answers.queries?.databases.find((one) => one.name === name)?.queries ?? [];
  if (found.length === 0) return undefined;
  return table(
    "Statements by the time they took",
    ["statement", "count", "errors", "total", "mean", "p99"],
    found.map(({ text, schema, count, errors, time, mean, p99 }) => [
      h("code", {}, schema === "" ? text : `${schema}: ${text}`),
      showCount(count),
      showCount(errors),
      ...[time, mean, p99].map((ms) => showSeconds(ms / 1000)),
    ]),
  );
}
