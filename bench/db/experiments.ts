/**
 * What is measured through which doors.
 *
 * @module
 */
import type { Job } from "./client.ts";

export type ExperimentName = "sessions" | "queries" | "throughput" | "delay";

export interface Sizes {
  readonly sessions: number;
  readonly queries: number;
  readonly seconds: number;
  readonly delayed: number;
}

export interface Work {
  readonly experiment: ExperimentName;
  /** Unique within its experiment. */
  readonly name: string;
  /** What the report says about it. */
  readonly about: string;
  readonly clients: number;
  readonly job: Job;
  /** Doors, as in a field; those that are not there are left out. The first is the control. */
  readonly doors: readonly string[];
}

const DIRECT = ["direct tcp", "direct tcp again", "direct socket"];
const SMART = [
  "fairlead-bun tcp smart",
  "fairlead-bun socket smart",
  "fairlead-deno tcp smart",
  "fairlead-deno socket smart",
];
const OTHER_STRATEGIES = ["always", "never"].flatMap((strategy) => [
  `fairlead-bun tcp ${strategy}`,
  `fairlead-bun socket ${strategy}`,
  `fairlead-deno tcp ${strategy}`,
]);
const ROUTERS = ["router tcp", "router tcp sharing"];

const THROUGHPUT_CLIENTS = 16;

export function works(sizes: Sizes): Work[] {
  const { sessions: count, queries, seconds, delayed } = sizes;
  const few = (n: number) => Math.max(20, Math.round(n * 0.15));
  const sessions = (api: "mysqli" | "pdo", shape: "read-only" | "wordpress", n: number): Job => {
    return { kind: "sessions", api, shape, count: n, warmup: few(n) };
  };
  const strategies = [...DIRECT, "haproxy tcp", ...SMART, ...OTHER_STRATEGIES];
  const held = [...DIRECT, "haproxy tcp", "haproxy socket", ...ROUTERS, ...SMART];
  return [
    {
      experiment: "sessions",
      name: "WordPress-shaped, mysqli",
      about: "connect, `SET NAMES utf8mb4`, `SET SESSION sql_mode=...`, one `SELECT` by primary key, close",
      clients: 1,
      job: sessions("mysqli", "wordpress", count),
      doors: strategies,
    },
    {
      experiment: "sessions",
      name: "read-only, mysqli",
      about: "connect, one `SELECT` by primary key, close",
      clients: 1,
      job: sessions("mysqli", "read-only", count),
      doors: strategies,
    },
    {
      experiment: "sessions",
      name: "WordPress-shaped, PDO",
      about: "the same with PDO",
      clients: 1,
      job: sessions("pdo", "wordpress", count),
      doors: [...DIRECT, "haproxy tcp", ...SMART],
    },
    {
      experiment: "queries",
      name: "one row",
      about: "`SELECT` by primary key on a held connection",
      clients: 1,
      job: { kind: "queries", query: "key", count: queries, warmup: few(queries) },
      doors: held,
    },
    {
      experiment: "queries",
      name: "100 rows",
      about: "a range of 100 rows (4 KB) on a held connection",
      clients: 1,
      job: { kind: "queries", query: "rows", count: Math.ceil(queries / 3), warmup: few(queries / 3) },
      doors: held,
    },
    {
      experiment: "throughput",
      name: `one row, ${THROUGHPUT_CLIENTS} clients`,
      about: `${THROUGHPUT_CLIENTS} PHP processes, each with a held connection, as fast as they can`,
      clients: THROUGHPUT_CLIENTS,
      job: { kind: "queries", query: "key", seconds, warmup: 100 },
      doors: [
        "direct tcp",
        "direct tcp again",
        "haproxy tcp",
        ...ROUTERS,
        "fairlead-bun tcp smart",
        "fairlead-deno tcp smart",
      ],
    },
    {
      experiment: "delay",
      name: "WordPress-shaped, mysqli",
      about: "the same session when every packet to or from the database takes 1 ms: the proxy stands beside PHP",
      clients: 1,
      job: sessions("mysqli", "wordpress", delayed),
      doors: [
        "direct tcp",
        "haproxy tcp",
        "fairlead-bun tcp smart",
        "fairlead-bun tcp always",
        "fairlead-deno tcp smart",
      ],
    },
  ];
}
