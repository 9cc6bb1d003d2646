import type { Frame } from "../figures/frame.ts";
import { showCount, showSeconds } from "../figures/units.ts";
import { showGrowth, showQuantile, showReasons } from "../figures/words.ts";
import { type ElementNode, h } from "./node.ts";
import { folded, panel, slots, table } from "./parts.ts";
import type { View } from "./view.ts";

/** Holders and waiters that are shown. */
const mostPeople = 20;

/** What each bulkhead has out, and who has it. */
export function bulkheadsPanel(view: View, { bulkheads }: Frame): ElementNode | undefined {
  if (bulkheads.length === 0) return undefined;
  return panel(
    "bulkheads",
    "Bulkheads",
    table(
      view.answers.bulkheads === undefined ? "Permits" : `Permits, kept in ${view.answers.bulkheads.store}`,
      ["bulkhead", "permits", "in use", "in line", "oldest wait", "waiting p99", "refused", "lost", "overtakes"],
      bulkheads.map((one) => [
        one.name,
        slots(`permits of ${one.name}`, [
          { name: "in use", style: "busy", count: one.inUse },
          { name: "free", style: "idle", count: Math.max(0, one.limit - one.inUse) },
        ]),
        `${showCount(one.inUse)} of ${showCount(one.limit)}`,
        showCount(one.queued),
        one.queued === 0 ? "–" : showSeconds(one.oldestWait),
        showQuantile(one.waiting.p99),
        showReasons(one.refusals),
        bad(one.lost.total, showGrowth(one.lost)),
        bad(one.overtakes.total, showGrowth(one.overtakes)),
      ]),
    ),
    people(view),
  );
}

function bad(count: number, text: string): string | ElementNode {
  return count > 0 ? h("span", { class: "badge" }, text) : text;
}

function people({ answers }: View): ElementNode | undefined {
  const known = answers.bulkheads?.bulkheads;
  if (known === undefined) return undefined;
  const all = known.flatMap(({ name, held, waiting }) => [
    ...held.map((one) => ({ ...one, name, does: "holds", ms: one.held_ms })),
    ...waiting.map((one) => ({ ...one, name, does: "waits", ms: one.waited_ms })),
  ]);
  const hidden = known.reduce((sum, one) => sum + one.held_more + one.waiting_more, 0);
  const rows = all.slice(0, mostPeople).map((one) => [
    one.name,
    one.does,
    showSeconds(one.ms / 1000),
    one.target ?? "–",
    one.request ?? "–",
    one.pid === undefined ? "–" : String(one.pid),
    String(one.weight),
  ]);
  const head = ["bulkhead", "does", "for", "page", "request", "pid", "weight"];
  return folded("people", "Who holds and who waits", { caption: "Now", head, rows, all: all.length + hidden });
}
