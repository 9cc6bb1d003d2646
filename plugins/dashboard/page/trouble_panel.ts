import type { Frame } from "../figures/frame.ts";
import type { Reason } from "../figures/lanes.ts";
import { showCount, showRate } from "../figures/units.ts";
import { meaning } from "../figures/words.ts";
import { type ElementNode, h } from "./node.ts";
import { panel, table } from "./parts.ts";
import type { View } from "./view.ts";

interface Row {
  readonly where: string;
  readonly reason: Reason;
  /** Finds the same row in another frame. */
  readonly find: (frame: Frame) => readonly Reason[] | undefined;
}

/** Who was turned away and why, and which PHP processes had to be replaced. */
export function troublePanel(view: View, frame: Frame): ElementNode {
  return panel(
    "trouble",
    "Turned away, failed, restarted",
    h(
      "div",
      { class: "tables" },
      counted(view, "Turned away, by reason", "Nobody has been turned away.", refusals(frame)),
      counted(
        view,
        "PHP: replaced processes and lost executions",
        "No process was replaced, no execution lost.",
        ends(frame),
      ),
    ),
  );
}

function refusals(frame: Frame): readonly Row[] {
  return [
    ...rows(frame.lanes, "line", (past) => past.lanes, ({ refusals }) => refusals),
    ...rows(frame.bulkheads, "bulkhead", (past) => past.bulkheads, ({ refusals }) => refusals),
    ...rows(frame.databases, "database", (past) => past.databases, ({ refusals }) => refusals),
  ];
}

function ends(frame: Frame): readonly Row[] {
  return [
    ...rows(frame.lanes, "replaced in", (past) => past.lanes, ({ processes }) => processes?.restarts ?? []),
    ...rows(frame.lanes, "executions of", (past) => past.lanes, ({ processes }) => processes?.failed ?? []),
  ];
}

function rows<T extends { readonly name: string }>(
  all: readonly T[],
  what: string,
  within: (frame: Frame) => readonly T[],
  pick: (one: T) => readonly Reason[],
): readonly Row[] {
  return all.flatMap((one) =>
    pick(one).map((reason): Row => ({
      where: `${what} ${one.name}`,
      reason,
      find(frame) {
        const same = within(frame).find(({ name }) => name === one.name);
        return same && pick(same);
      },
    }))
  );
}

function counted({ history }: View, caption: string, none: string, rows: readonly Row[]): ElementNode {
  if (rows.length === 0) return h("p", { class: "none" }, none);
  return table(
    caption,
    ["where", "reason", "now", "in 5 min", "since the start"],
    rows.map(({ where, reason, find }) => [
      where,
      meaning(reason.label),
      showRate(reason.perSecond),
      showCount(history.total((past) => find(past)?.find(({ label }) => label === reason.label)?.increase)),
      showCount(reason.total),
    ]),
  );
}
