import { showSeconds } from "../figures/units.ts";
import { type ElementNode, h, type PageNode } from "./node.ts";
import { facts } from "./parts.ts";
import type { View } from "./view.ts";

/** Whether all is well, and who answers. */
export function head(view: View): readonly PageNode[] {
  const { answers: { whoami }, frame, wallClock, time: { now }, restartedAt } = view;
  const startedAt = frame?.host.startedAt;
  return [
    status(view),
    facts(
      ["version", whoami?.version ?? frame?.host.version ?? "–"],
      ["runtime", whoami?.runtime ?? frame?.host.runtime ?? "–"],
      ["pid", whoami === undefined ? "–" : String(whoami.pid)],
      ["up for", startedAt === undefined ? "–" : showSeconds(Math.max(0, wallClock / 1000 - startedAt))],
      whoami &&
        ["configuration", h("code", { title: `SHA-256 ${whoami.config_hash}` }, whoami.config_hash.slice(0, 12))],
      restartedAt === undefined ? undefined : ["restarted", `${showSeconds((now - restartedAt) / 1000)} ago`],
    ),
    links(view),
  ];
}

function status({ problem, answers: { ready } }: View): ElementNode {
  const [tone, text, reasons]: readonly [string, string, readonly string[]] = problem !== undefined
    ? ["bad", "No answer", [`${problem.text}, since ${new Date(problem.since).toLocaleTimeString()}`]]
    : ready === undefined
    ? ["", "Asking", []]
    : ready.ready
    ? ["good", "Ready", []]
    : [
      "bad",
      "Not ready",
      Object.entries(ready.parts).filter(([, why]) => why !== "ready").map((part) => part.join(": ")),
    ];
  return h(
    "div",
    { class: `status ${tone}`.trim(), role: "status" },
    h("b", {}, text),
    reasons.length > 0 && h("ul", {}, reasons.map((reason) => h("li", {}, reason))),
  );
}

function links({ metricsPath, answers, frame }: View): ElementNode {
  const all: readonly (readonly [path: string, there: boolean])[] = [
    [metricsPath, true],
    ["readyz", true],
    ["-/whoami", true],
    ["-/php", frame?.lanes.some(({ processes }) => processes !== undefined) ?? false],
    ["-/admission", answers.admission !== undefined],
    ["-/bulkheads", answers.bulkheads !== undefined],
    ["-/db/pool", (answers.pools?.databases.length ?? 0) > 0],
    ["-/db/queries", (answers.queries?.databases.length ?? 0) > 0],
  ];
  return h(
    "nav",
    { "aria-label": "The raw numbers" },
    h(
      "ul",
      {},
      all.filter(([, there]) => there).map(([path]) =>
        h("li", {}, h("a", { href: path }, `/${path.replace("./", "")}`))
      ),
    ),
  );
}
