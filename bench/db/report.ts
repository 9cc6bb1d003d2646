/**
 * Renders what `run.ts` measured as a section of Markdown, and a chart.
 *
 * `bun bench/db/report.ts db.json [--svg chart.svg] [--image assets/chart.svg] > section.md`
 *
 * @module
 */
import process from "node:process";
import { type Bar, barChart } from "../support/bar_chart.ts";
import { machineItem, versionNames } from "../support/machine.ts";
import { renderFile } from "../support/main.ts";
import { markdownTable } from "../support/table.ts";
import type { ExperimentName } from "./experiments.ts";
import { memoryTable, sampleTables, serverName } from "./report_text.ts";
import type { Report } from "./report_types.ts";
import { type ServerKind, summarize } from "./summary.ts";

const HEADINGS: Readonly<Record<ExperimentName, string>> = {
  sessions: "A session",
  queries: "A query on a held connection",
  throughput: "Throughput",
  delay: "A session over a link with delay",
};

function facts(report: Report): string {
  const databases = (Object.keys(report.servers) as ServerKind[]).map((server) => serverName(report, server));
  return [
    machineItem(report.machine),
    `- Versions: ${[...databases, ...versionNames(report.machine)].join(", ")}. ` +
    "TLS off; every proxy reaches the database over loopback TCP.",
    `- The client is PHP's command line (mysqlnd), which times every session or query itself, and checks every answer.`,
    `- ${report.rounds} ${
      report.rounds === 1 ? "round" : "rounds"
    }, all ways interleaved; medians of the windows that could be trusted. Taken ${report.startedAt.slice(0, 10)}.`,
  ].join("\n");
}

/** The figures a reader wants first: mean times of a session and of a query over direct TCP, per server. */
export function bars(report: Report): Bar[] {
  const shown = ["sessions", "queries"];
  return summarize(report.samples).flatMap(({ server, experiment, work, door, meanRatio }) => {
    if (meanRatio === undefined || !shown.includes(experiment) || /always|never|again|PDO|100 rows/.test(door + work)) {
      return [];
    }
    return [{ group: `${work.replace(", mysqli", "")}, ${server}`, arm: door.replace(" smart", ""), ratio: meanRatio }];
  });
}

export function chart(report: Report): string {
  const title =
    "Mean time, as a ratio to no proxy over loopback TCP (less is better): median of the rounds, the line " +
    "spans them all";
  return barChart(bars(report), { control: "direct tcp", title });
}

export function markdown(report: Report, image?: string): string {
  const parts = [
    facts(report),
    Object.entries(report.arms).map(([name, about]) => `- \`${name}\`: ${about}.`).join("\n"),
  ];
  if (image !== undefined) parts.push(`![Mean time of every way over that of a direct connection](${image})`);
  let [experiment, work] = ["", ""];
  for (const one of sampleTables(report)) {
    if (one.work.experiment !== experiment) parts.push(`### ${HEADINGS[one.work.experiment]}`);
    if (one.work.experiment !== experiment || one.work.name !== work) {
      parts.push(`**${one.work.name}**: ${one.work.about}${one.work.experiment === "delay" ? delayNote(report) : ""}.`);
    }
    [experiment, work] = [one.work.experiment, one.work.name];
    parts.push(`${serverName(report, one.server)}:`, markdownTable(one.head, one.rows));
  }
  const memory = memoryTable(report);
  if (memory !== undefined) {
    parts.push("### Memory", `${MEMORY_ABOUT} The database is ${memory.title.replace("memory, ", "")}.`);
    parts.push(markdownTable(memory.head, memory.rows));
  }
  parts.push(READING, ...notesOn(report));
  return `${parts.join("\n\n")}\n`;
}

function delayNote(report: Report): string {
  return `; the link is a relay that holds every byte for ${report.delayMs} ms`;
}

const MEMORY_ABOUT =
  "Resident memory of a proxy that was started for this, while sessions are open that have logged in, set their " +
  "character set and do nothing (20 of them have run a query); then while a result passes whose reader is fast, and " +
  "one whose reader sleeps 20 ms after each MiB.";

const READING =
  "Ratios are to `direct tcp`, or to HAProxy over TCP or over its socket, in the same round: the median, and the lowest " +
  "and the highest round in brackets. CPU is " +
  "what the process used for one session or query, from the scheduler's own account. Of a session, the last columns " +
  "are the database's counters over a whole window, the highest of all windows: `Connections`, `Com_admin_commands`, " +
  "`Com_set_option`, `Questions`.";

/** What a reader must know before believing the tables. */
function notesOn(report: Report): string[] {
  const bad = report.samples.filter((sample) => sample.faults.length > 0);
  if (bad.length === 0) return [];
  return [`- ${bad.length} of ${report.samples.length} windows could not be trusted and are left out.`];
}

if (import.meta.main) process.exitCode = renderFile<Report>("bench/db/report.ts", { markdown, chart });
