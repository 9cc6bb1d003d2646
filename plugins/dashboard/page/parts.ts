import type { Quantile } from "../figures/distribution.ts";
import type { Reason } from "../figures/lanes.ts";
import type { Growth, Quantiles } from "../figures/span.ts";
import { showCount, showRate, showSeconds, unknown } from "../figures/units.ts";
import { type Children, type ElementNode, h } from "./node.ts";

/** A quantile with its unit. Where buckets say only on which side it lies, so does this. */
export function showQuantile(found: Quantile | undefined): string {
  if (found === undefined) return unknown;
  if (found.upper === Infinity) return `> ${showSeconds(found.lower)}`;
  return found.lower <= 0 ? `≤ ${showSeconds(found.upper)}` : showSeconds(found.value);
}

/** A section with a heading, found by its id. */
export function panel(id: string, title: string, ...children: readonly Children[]): ElementNode {
  return h(
    "section",
    { id, class: "panel", "aria-labelledby": `${id}-title` },
    h("h2", { id: `${id}-title` }, title),
    children,
  );
}

/** A figure at a glance. `tone` says whether it is bad (`bad`), remarkable (`warn`) or neither. */
export function tile(name: string, value: string, note: string, tone: "bad" | "warn" | "" = ""): ElementNode {
  return h(
    "div",
    { class: `tile ${tone}`.trim() },
    h("dt", {}, name),
    h("dd", {}, h("b", {}, value), h("small", {}, note)),
  );
}

/** Named values in a row. */
export function facts(...all: readonly (readonly [name: string, value: Children] | undefined)[]): ElementNode {
  const given = all.filter((fact) => fact !== undefined);
  return h("dl", { class: "facts" }, given.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

/** A table that scrolls on its own where the window is narrow. */
export function table(caption: string, head: readonly string[], rows: readonly (readonly Children[])[]): ElementNode {
  return h(
    "div",
    { class: "scroll", role: "region", "aria-label": caption, tabindex: "0" },
    h(
      "table",
      {},
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, head.map((name) => h("th", { scope: "col" }, name)))),
      h(
        "tbody",
        {},
        rows.map(([first, ...rest]) =>
          h("tr", {}, h("th", { scope: "row" }, first), rest.map((cell) => h("td", {}, cell)))
        ),
      ),
    ),
  );
}

export function showQuantiles({ p50, p90, p99 }: Quantiles): string {
  return [p50, p90, p99].map(showQuantile).join(" / ");
}

/** `12 (0.5/s)`. */
export function showGrowth({ total, perSecond }: Growth): string {
  return perSecond === undefined || perSecond === 0 ? showCount(total) : `${showCount(total)} (${showRate(perSecond)})`;
}

/** `12 timeout, 3 full`, the most frequent first; `none` where there are none. */
export function showReasons(reasons: readonly Reason[]): string {
  const sorted = reasons.toSorted((a, b) => b.total - a.total);
  return sorted.map(({ label, total }) => `${showCount(total)} ${words(label)}`).join(", ") || "none";
}

/** The value of a label as words. */
export function words(label: string): string {
  return label.replaceAll("_", " ");
}

/** More squares than this are not counted by anybody: a bar shows the shares. */
const mostSlots = 120;

/** Slots, one for each thing there is, or a bar where there are too many. */
export function slots(
  what: string,
  parts: readonly { readonly name: string; readonly style: string; readonly count: number }[],
): ElementNode {
  const seen = parts.filter(({ count }) => count > 0);
  const all = seen.reduce((sum, { count }) => sum + count, 0);
  const label = `${what}: ${seen.map(({ name, count }) => `${count} ${name}`).join(", ") || "none"}`;
  if (all > mostSlots) {
    const ends = seen.map((_, i) => seen.slice(0, i).reduce((sum, { count }) => sum + count, 0));
    const bars = seen.map(({ style, count }, i) =>
      h("rect", { class: `slot ${style}`, x: ends[i]! / all * 100, width: count / all * 100, height: 10 })
    );
    return h("svg", {
      class: "bar",
      viewBox: "0 0 100 10",
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": label,
    }, bars);
  }
  return h(
    "span",
    { class: "slots", role: "img", "aria-label": label },
    seen.flatMap(({ style, count }) => Array.from({ length: count }, () => h("i", { class: `slot ${style}` }))),
  );
}
