import { showBytes, showCount } from "../figures/units.ts";
import { bulkheadsPanel } from "./bulkheads_panel.ts";
import { hostCharts, mainCharts } from "./charts.ts";
import { databasePanel } from "./database_panel.ts";
import { glance } from "./glance.ts";
import { lanesPanel } from "./lanes_panel.ts";
import { type Children, h, type PageNode } from "./node.ts";
import { facts, panel } from "./parts.ts";
import { troublePanel } from "./trouble_panel.ts";
import type { View } from "./view.ts";

/** What is below the head. */
export function page(view: View): readonly PageNode[] {
  const { frame } = view;
  if (frame === undefined) return [h("p", { class: "none" }, "No numbers yet.")];
  const { host } = frame;
  const parts: readonly Children[] = [
    panel("glance", "At a glance", glance(view, frame), mainCharts(view)),
    lanesPanel(view, frame),
    bulkheadsPanel(view, frame),
    databasePanel(view, frame),
    troublePanel(view, frame),
    panel(
      "host",
      "The server's process",
      facts(
        ["open files", `${showCount(host.openFiles)} of ${showCount(host.maxFiles)}`],
        ["JavaScript heap", showBytes(host.heapUsed)],
        view.answers.whoami && ["program", h("code", {}, view.answers.whoami.executable)],
        host.metricErrors > 0 ? ["numbers that could not be read", showCount(host.metricErrors)] : undefined,
      ),
      hostCharts(view),
    ),
  ];
  return h("main", {}, parts).children;
}
