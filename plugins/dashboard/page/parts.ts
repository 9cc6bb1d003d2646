import { showCount } from "../figures/units.ts";
import { type Children, type ElementNode, h } from "./node.ts";

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

/** A table of those of the moment. It is folded up until asked for: its length changes at each look, and the page would jump. */
export function folded(
  id: string,
  title: string,
  { caption, head, rows, all }: {
    readonly caption: string;
    readonly head: readonly string[];
    readonly rows: readonly (readonly Children[])[];
    /** How many there are, with those that have no row. */
    readonly all: number;
  },
): ElementNode {
  const more = all - rows.length;
  return h(
    "details",
    { id },
    h("summary", {}, `${title}: ${all === 0 ? "nobody" : showCount(all)}`),
    rows.length > 0 && table(more > 0 ? `${caption}, and ${showCount(more)} more` : caption, head, rows),
  );
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
