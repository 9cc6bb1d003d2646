import { beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { outcomes } from "../../plugins/admission/metrics.ts";
import { refusalReasons } from "../../plugins/dbproxy/stats/metrics.ts";
import { backendStates, clientStates } from "../../plugins/dbproxy/stats/report.ts";
import type { Description } from "../../plugins/metrics/metric.ts";
import { registeredMetrics } from "../../scripts/registered_metrics.ts";

const file = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../../examples/monitoring/${name}`, import.meta.url)), "utf8");

/** One expression, and the labels that a text beside it names. */
interface Query {
  readonly where: string;
  readonly expr: string;
  readonly shown: readonly string[];
}

const mentioned = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name]) => name!);

/** The rules; a test below holds that this finds all of them. */
const alerts: readonly Query[] = file("alerts.yml").split(/^ {6}- alert: /m).slice(1).map((text) => ({
  where: text.split("\n")[0]!,
  expr: /^ {8}expr: (.+)$/m.exec(text)?.[1] ?? "",
  shown: mentioned(text, /\$labels\.(\w+)/g),
}));

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}
const dashboard = JSON.parse(file("grafana-dashboard.json")) as {
  readonly panels: readonly Panel[];
  readonly annotations: { readonly list: readonly { readonly expr: string; readonly titleFormat: string }[] };
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly query: { readonly query: string } | string }[];
  };
};
const panels: readonly Query[] = [
  ...dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr, legendFormat }) => ({ where: title, expr, shown: mentioned(legendFormat, /\{\{(\w+)\}\}/g) }))
  ),
  ...dashboard.annotations.list.map(({ expr, titleFormat }) => ({
    where: "annotation",
    expr,
    shown: mentioned(titleFormat, /\{\{(\w+)\}\}/g),
  })),
  ...dashboard.templating.list.flatMap(({ name, query }) =>
    typeof query === "string" ? [] : [{ where: `variable ${name}`, expr: query.query, shown: [] }]
  ),
];

/** What Prometheus itself makes, and the labels that it adds to every sample. */
const own = new Set(["up"]);
const added = ["instance", "job"];

/** Words of PromQL, and functions used here. */
const language =
  /^(?:sum|max|by|and|or|rate|increase|changes|vector|histogram_quantile|label_values)$|^\$__\w+$|^\$(?:job|instance)$/;

let known: ReadonlyMap<string, Description>;
beforeAll(async () => {
  known = new Map((await registeredMetrics()).describe().map((one) => [one.name, one]));
});

/** The metric that a name in an expression is of, and the labels its samples have. */
function metricOf(name: string): { readonly base: string; readonly labels: readonly string[] } | undefined {
  if (own.has(name)) return { base: name, labels: added };
  const part = /^(.*)_(bucket|sum|count)$/.exec(name);
  const histogram = part && known.get(part[1]!);
  if (histogram?.type === "histogram") {
    return { base: part![1]!, labels: [...histogram.labels, ...added, ...(part![2] === "bucket" ? ["le"] : [])] };
  }
  const found = known.get(name);
  return found === undefined || found.type === "histogram"
    ? undefined
    : { base: name, labels: [...found.labels, ...added] };
}

/** What is wrong with a query, in words. */
function faults({ where, expr, shown }: Query): string[] {
  const bare = expr.replace(/"(?:[^"\\]|\\.)*"/g, '""');
  const wrong: string[] = [];
  const offered = new Set<string>();
  const grouped = mentioned(bare, /\bby \(([^)]*)\)/g).flatMap((list) => list.split(",").map((name) => name.trim()));
  const rest = bare.replace(/\bby \([^)]*\)/g, " by ").replace(/label_values\((.*), (\w+)\)/, (_, of, label) => {
    grouped.push(label);
    return `label_values(${of})`;
  });
  for (const [, name, selector = ""] of rest.replace(/\[[^\]]*\]/g, " ").matchAll(/([a-zA-Z_$][\w$]*)(\{[^}]*\})?/g)) {
    if (language.test(name!)) continue;
    const metric = metricOf(name!);
    if (metric === undefined) wrong.push(`${where}: no metric ${name}`);
    metric?.labels.forEach((label) => offered.add(label));
    for (const label of mentioned(selector, /(\w+)(?:=~|!~|!=|=)/g)) {
      if (metric !== undefined && !metric.labels.includes(label)) wrong.push(`${where}: ${name} has no label ${label}`);
    }
  }
  for (const label of [...grouped, ...shown]) if (!offered.has(label)) wrong.push(`${where}: no label ${label}`);
  return wrong;
}

describe("examples/monitoring", () => {
  test("names only metrics and labels that the server has", () => {
    expect(alerts.length).toBe(16);
    expect(alerts.length).toBe(file("alerts.yml").match(/\balert:/g)!.length);
    expect(panels.length).toBeGreaterThan(40);
    expect([...alerts, ...panels].filter(({ expr }) => expr === "")).toEqual([]);
    expect([...alerts, ...panels].flatMap(faults)).toEqual([]);
  });

  test("the test finds what is wrong", () => {
    const wrong = (expr: string, shown: string[] = []) => faults({ where: "x", expr, shown });
    expect(wrong("sum by (lane) (rate(fairlead_admission_total[5m])) > 0", ["lane"])).toEqual([]);
    expect(wrong("fairlead_no_such > 1")).toEqual(["x: no metric fairlead_no_such"]);
    expect(wrong("fairlead_admission_wait_seconds")).toEqual(["x: no metric fairlead_admission_wait_seconds"]);
    expect(wrong('fairlead_php_busy{lane="php"}')).toEqual(["x: fairlead_php_busy has no label lane"]);
    expect(wrong("sum by (pol) (fairlead_php_busy)")).toEqual(["x: no label pol"]);
    expect(wrong("fairlead_php_busy", ["lane"])).toEqual(["x: no label lane"]);
  });

  test("values of labels that are matched are among those there are", () => {
    const values: Readonly<Record<string, readonly string[]>> = {
      fairlead_admission_total: outcomes,
      fairlead_db_backends: backendStates,
      fairlead_db_clients: clientStates,
      fairlead_db_refused_total: refusalReasons,
    };
    let checked = 0;
    for (const { where, expr } of [...alerts, ...panels]) {
      for (const [, name, selector] of expr.matchAll(/(\w+)\{([^}]*)\}/g)) {
        const all = values[name!];
        if (all === undefined) continue;
        for (const pattern of mentioned(selector!, /(?:outcome|state|reason)(?:=~|!~|!=|=)"([^"]*)"/g)) {
          for (const alternative of pattern.split("|")) {
            checked++;
            expect([where, alternative, all.some((value) => new RegExp(`^(?:${alternative})$`).test(value))])
              .toEqual([where, alternative, true]);
          }
        }
      }
    }
    expect(checked).toBeGreaterThan(8);
  });

  test("tells of what must never go unseen", () => {
    const all = alerts.map(({ expr }) => expr).join("\n");
    for (
      const name of [
        "fairlead_part_ready",
        "fairlead_admission_wait_seconds_bucket",
        "fairlead_admission_total",
        "fairlead_php_restarts_total",
        "fairlead_db_backends_limit",
        "fairlead_bulkhead_lost_total",
        "fairlead_admission_overtakes_total",
        "fairlead_event_loop_lag_max_seconds",
      ]
    ) expect(all).toContain(name);
  });

  test("the dashboard's panels have ids of their own and lie beside one another", () => {
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const cells = new Set<string>();
    for (
      const { gridPos } of dashboard.panels as unknown as { gridPos: { x: number; y: number; w: number; h: number } }[]
    ) {
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(x).toBeLessThan(24);
          expect(cells.has(`${x},${y}`)).toBe(false);
          cells.add(`${x},${y}`);
        }
      }
    }
  });
});
