/**
 * The tables of a run, for a terminal and for Markdown.
 *
 * @module
 */
import { fixed, ratio, table } from "../support/table.ts";
import type { Work } from "./experiments.ts";
import type { MemoryResult } from "./memory.ts";
import type { Report } from "./report_types.ts";
import { type Cell, type ServerKind, summarize } from "./summary.ts";

export interface Table {
  readonly title: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

const TITLES = { mariadb: "MariaDB", mysql: "MySQL" } as const;

/** `MariaDB 10.11.19`. */
export function serverName(report: Report, server: ServerKind): string {
  return `${TITLES[server]} ${/^[\d.]+/.exec(report.servers[server] ?? "")?.[0] ?? ""}`.trim();
}

const us = (value: number) => fixed(value, value < 100 ? 1 : 0);

/** Columns that only sessions have: what reached the server. */
const COUNTED: readonly (readonly [string, (cell: Cell) => number])[] = [
  ["new connections", (cell) => cell.counters.Connections],
  ["resets + pings", (cell) => cell.counters.Com_admin_commands],
  ["SETs", (cell) => cell.counters.Com_set_option],
  ["questions", (cell) => cell.counters.Questions],
];

/** The same cells against HAProxy: each way against the one that clients reach as they reach it. */
type Rivals = (door: string) => Cell | undefined;

function rivalsOf(report: Report, work: Work, server: ServerKind): Rivals {
  const against = (via: string) =>
    summarize(report.samples, `haproxy ${via}`).filter((cell) =>
      cell.server === server && cell.experiment === work.experiment && cell.work === work.name
    );
  const [tcp, socket] = [against("tcp"), against("socket")];
  return (door) => (/ socket\b/.test(door) ? socket : tcp).find((cell) => cell.door === door);
}

function columns(work: Work, rivals: Rivals): readonly (readonly [string, (cell: Cell, control: boolean) => string])[] {
  const against = (pick: (cell: Cell) => Cell["meanRatio"]) => (cell: Cell, control: boolean) =>
    ratio(pick(cell)) || (control ? "1" : "-");
  const cpu = [
    ["proxy CPU µs", (cell: Cell) => cell.proxyCpuUs === 0 ? "-" : us(cell.proxyCpuUs)],
    ["database CPU µs", (cell: Cell) => us(cell.databaseCpuUs)],
  ] as const;
  const toHaproxy = (pick: (cell: Cell) => Cell["meanRatio"]) => (cell: Cell) => {
    const rival = rivals(cell.door);
    return (rival && ratio(pick(rival))) || (cell.door.startsWith("haproxy") ? "1" : "-");
  };
  if (work.experiment === "throughput") {
    return [
      ["queries/s", (cell) => fixed(cell.perSecond, 0)],
      ["p50 µs", (cell) => us(cell.p50)],
      ["p99 µs", (cell) => us(cell.p99)],
      ["queries/s ratio", against((cell) => cell.perSecondRatio)],
      ["to HAProxy", toHaproxy((cell) => cell.perSecondRatio)],
      ...cpu,
      ["PHP CPU µs", (cell) => us(cell.clientCpuUs)],
    ];
  }
  return [
    ["p50 µs", (cell) => us(cell.p50)],
    ["p99 µs", (cell) => us(cell.p99)],
    ["mean µs", (cell) => us(cell.mean)],
    ["p50 ratio", against((cell) => cell.p50Ratio)],
    ["p99 ratio", against((cell) => cell.p99Ratio)],
    ["mean ratio", against((cell) => cell.meanRatio)],
    ...(work.experiment === "queries" ? [["p50 to HAProxy", toHaproxy((cell) => cell.p50Ratio)] as const] : []),
    ...cpu,
    ...(work.experiment === "sessions"
      ? COUNTED.map(([name, pick]) => [name, (cell: Cell) => String(pick(cell))] as const)
      : []),
  ];
}

/** One table for each work and server. */
export function sampleTables(report: Report): (Table & { readonly work: Work; readonly server: ServerKind })[] {
  const cells = summarize(report.samples);
  return report.works.flatMap((work) =>
    (["mariadb", "mysql"] as const).flatMap((server) => {
      const own = cells.filter((cell) =>
        cell.server === server && cell.experiment === work.experiment && cell.work === work.name
      ).sort((a, b) => work.doors.indexOf(a.door) - work.doors.indexOf(b.door));
      if (own.length === 0) return [];
      const shown = columns(work, rivalsOf(report, work, server));
      return [{
        work,
        server,
        title: `${work.experiment}: ${work.name}, ${serverName(report, server)}`,
        head: ["way", ...shown.map(([name]) => name), "windows"],
        rows: own.map((cell) => [
          cell.door,
          ...shown.map(([, text]) => text(cell, cell.door === work.doors[0])),
          `${cell.good}/${cell.windows}`,
        ]),
      }];
    })
  );
}

const mib = (bytes: number) => (bytes / 2 ** 20).toFixed(1);
const kib = (bytes: number) => (bytes / 1024).toFixed(1);

function memoryRow(m: MemoryResult): string[] {
  const proxied = m.started.proxy > 0;
  const own = (text: string) => proxied ? text : "-";
  return [
    m.door,
    own(mib(m.started.proxy)),
    own(mib(m.worked.proxy)),
    own(mib(m.withIdle.proxy)),
    own(kib((m.withIdle.proxy - m.worked.proxy) / m.idle)),
    own(mib(m.left.proxy)),
    String(m.connections),
    kib((m.withIdle.database - m.worked.database) / m.idle),
    fixed(m.bulk.bytes / 2 ** 20 / m.bulk.seconds, 0),
    own(fixed(m.bulk.proxyCpuMs, 0)),
    own(mib(m.bulk.growth)),
    own(mib(m.slow.growth)),
  ];
}

export function memoryTable(report: Report): Table | undefined {
  const [first] = report.memory;
  if (first === undefined) return undefined;
  return {
    title: `memory, ${serverName(report, first.server)}`,
    head: [
      "way",
      "started, MiB",
      "after work, MiB",
      `${first.idle} idle sessions, MiB`,
      "KiB a session",
      "after they left, MiB",
      "database connections",
      "database KiB a session",
      `${mib(first.bulk.bytes)} MiB result, MiB/s`,
      "proxy CPU ms",
      "growth, MiB",
      `growth, slow reader, MiB`,
    ],
    rows: report.memory.map(memoryRow),
  };
}

export function samplesText(report: Report): string {
  return sampleTables(report).map(({ title, head, rows }) => `${title}\n${table(head, rows)}\n`).join("\n");
}

export function memoryText(report: Report): string {
  const found = memoryTable(report);
  return found === undefined ? "" : `${found.title}\n${table(found.head, found.rows)}\n`;
}
