import { Watch } from "../../plugins/dashboard/figures/watch.ts";
import type { Answers } from "../../plugins/dashboard/page/answers.ts";
import type { ElementNode, PageNode } from "../../plugins/dashboard/page/node.ts";
import type { View } from "../../plugins/dashboard/page/view.ts";

/** A view of a server that has shown these scrapes, two seconds apart. */
export function viewOf(scrapes: readonly string[], answers: Answers = {}, more: Partial<View> = {}): View {
  const watch = new Watch();
  scrapes.forEach((text, i) => watch.take(i * 2000, text));
  const now = (scrapes.length - 1) * 2000;
  return {
    time: { now, since: 0, cursor: undefined },
    wallClock: 1_000_000,
    history: watch.history,
    frame: watch.history.last,
    answers,
    problem: undefined,
    restartedAt: watch.restartedAt,
    metricsPath: "./metrics",
    ...more,
  };
}

/** Every element of a tree. */
export function* elements(nodes: readonly PageNode[]): Generator<ElementNode> {
  for (const node of nodes) {
    if (typeof node === "string") continue;
    yield node;
    yield* elements(node.children);
  }
}

/** The text of a tree, elements parted by spaces. */
export function textOf(nodes: readonly PageNode[]): string {
  return nodes.map((node) => typeof node === "string" ? node : textOf(node.children)).join(" ").replace(/\s+/g, " ")
    .trim();
}

/** The first element that has a class. */
export function byClass(nodes: readonly PageNode[], name: string): ElementNode[] {
  return [...elements(nodes)].filter(({ attributes }) => (attributes["class"] ?? "").split(" ").includes(name));
}

/** The element with an id. */
export function byId(nodes: readonly PageNode[], id: string): ElementNode | undefined {
  return [...elements(nodes)].find(({ attributes }) => attributes["id"] === id);
}
