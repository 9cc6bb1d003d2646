/**
 * Pages that say themselves who served them and when: `PID START END`, in ms of the clock that all processes of the machine
 * share (CLOCK_MONOTONIC). From the client's sending, on the same clock, to START is the wait, whatever the server.
 *
 * @module
 */
import { HALF_WORK } from "../http/pages.ts";

export interface Page {
  readonly name: string;
  readonly path: string;
  readonly about: string;
  /** Highest measured / ideal that passes; absent where the control is the measure. */
  readonly p99?: number;
  readonly p999?: number;
}

/** Sleeping pages leave the cores to the server, so that any excess over the ideal is the queue's own. */
export const PAGES: readonly Page[] = [
  { name: "sleep2", path: "/told2.php", about: "sleeps 2 ms", p99: 1.05, p999: 1.15 },
  { name: "sleep20", path: "/told20.php", about: "sleeps 20 ms", p99: 1.05, p999: 1.15 },
  // PHP, server and clients compete for the cores: how tight the tail can be is what the control shows.
  {
    name: "cpu",
    path: "/told_cpu.php",
    about: "about 0.5 ms of PHP: 400 md5, usort, htmlspecialchars",
  },
];

/** Works on nothing: tells the clock. */
export const CLOCK = "/clock.php";
export const FAST = "/fast.php";
export const SLOW = "/slow.php";

function told(work: string): string {
  return `<?php
$start = hrtime(true) / 1e6;
${work}
printf("%d %.4F %.4F\\n", getmypid(), $start, hrtime(true) / 1e6);
`;
}

/** Writes down, before it works, that this request was executed: also for a client that will never read an answer. */
function logged(log: string, work: string): string {
  return `<?php
file_put_contents(${
    JSON.stringify(log)
  }, sprintf("%d %.3F\\n", $_GET['i'] ?? -1, hrtime(true) / 1e6), FILE_APPEND | LOCK_EX);
${work}
echo "done\\n";
`;
}

/** Scripts by file name. @param log where the pages of open arrivals write `ID START` */
export function scripts(log: string): Record<string, string> {
  return {
    [CLOCK.slice(1)]: told(""),
    "told2.php": told("usleep(2000);"),
    "told20.php": told("usleep(20000);"),
    "told_cpu.php": told(HALF_WORK),
    [FAST.slice(1)]: logged(log, "usleep(5000);"),
    [SLOW.slice(1)]: logged(log, "usleep(500000);"),
  };
}

export interface Told {
  readonly pid: number;
  readonly start: number;
  readonly end: number;
}

/** What a page said, or nothing when this is no such page. */
export function parseTold(body: string): Told | undefined {
  const match = /^(\d+) (\d+\.\d{4}) (\d+\.\d{4})\n$/.exec(body);
  if (match === null) return undefined;
  const [, pid, start, end] = match;
  return { pid: Number(pid), start: Number(start), end: Number(end) };
}
