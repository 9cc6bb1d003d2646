import type { Counter, Family, Histogram, Meter, Sample } from "../../../core/contracts/meter.ts";
import type { Residue } from "../sql/statement.ts";
import { COM } from "../wire/commands.ts";
import { errorClasses } from "./error_classes.ts";
import { backendStates, clientStates, type PoolReport } from "./report.ts";

/** Why a session got no backend: the line was full, the wait too long, the server drains or is down, the client left. */
export type RefusalReason = "full" | "timeout" | "draining" | "down" | "left";
export const refusalReasons: readonly RefusalReason[] = ["full", "timeout", "draining", "down", "left"];

/**
 * Why a backend was closed. `error`: it erred in a session; `role`: what no reset undoes; `unread`: something was left in
 * the pipe; `reset`: its reset failed; `kind`: room for one of another kind; `gone`: the server closed it; `client`: its
 * client vanished in mid-statement.
 */
export type CloseReason =
  | "lifetime"
  | "idle"
  | "error"
  | "role"
  | "unread"
  | "reset"
  | "kind"
  | "gone"
  | "client"
  | "drain";
export const closeReasons: readonly CloseReason[] = [
  "lifetime",
  "idle",
  "error",
  "role",
  "unread",
  "reset",
  "kind",
  "gone",
  "client",
  "drain",
];

/** Why no new connection came about. `too_many`: the server has all it takes. */
export type DialFailure = "refused" | "timeout" | "auth" | "tls" | "too_many" | "other";
export const dialFailures: readonly DialFailure[] = ["refused", "timeout", "auth", "tls", "too_many", "other"];

const residues: Readonly<Record<Residue, true>> = {
  write: true,
  user_variable: true,
  lock: true,
  function: true,
  last_insert_id: true,
  found_rows: true,
  handler: true,
  role: true,
  temporary_table: true,
  prepare: true,
  call: true,
  transaction: true,
  set: true,
  show: true,
  admin: true,
  load: true,
  opaque: true,
};

/** The counters of one database, each resolved once: counting is adding to a number. */
export interface DbCounts {
  /** Seconds from asking for a backend to having it. */
  readonly wait: Histogram;
  readonly refused: Readonly<Record<RefusalReason, Counter>>;
  readonly resets: Counter;
  readonly resetsSkipped: Counter;
  readonly resetsFailed: Counter;
  /** Sessions that left something which only a reset undoes, by the first reason. */
  readonly pins: Readonly<Record<Residue, Counter>>;
  readonly dials: Counter;
  readonly dialsFailed: Readonly<Record<DialFailure, Counter>>;
  readonly closed: Readonly<Record<CloseReason, Counter>>;
  /** Counts a client's command, by its first byte. */
  command(byte: number): void;
  /** Counts an error packet of the server, by its code. */
  error(code: number): void;
  /** Seconds from a statement's arrival at the server to the last byte of its reply. */
  readonly seconds: Histogram;
  readonly slow: Counter;
  /** Bytes. */
  readonly fromClients: Counter;
  readonly toClients: Counter;
  /** SETs, and reads of variables, that the proxy answered itself. */
  readonly learnedSets: Counter;
  readonly learnedReads: Counter;
  /** Counts a login that was refused, by the name of its plugin. */
  authFailed(plugin: string): void;
}

/** Powers of two from a quarter of a millisecond to 16.384 s, as for the waits of `admission`. */
const waits: readonly number[] = Array.from({ length: 17 }, (_, i) => 0.00025 * 2 ** i);
/** Powers of two from 62.5 us to 32.768 s. */
const times: readonly number[] = Array.from({ length: 20 }, (_, i) => 0.0000625 * 2 ** i);

const plugins = ["mysql_native_password", "caching_sha2_password", "sha256_password", "client_ed25519", "relayed"];

/** Registers the metrics; the gauges ask `read` when they are scraped. Call the result once for each database. */
export function dbMetrics(
  meter: Meter,
  read: () => Iterable<{ readonly name: string; pool(): PoolReport }>,
): (db: string) => DbCounts {
  registerGauges(meter, read);
  const total = (name: string, help: string, label?: string) =>
    meter.counters(`fairlead_db_${name}_total`, help, label === undefined ? ["db"] : ["db", label]);
  const refused = total("refused", "Sessions that got no connection to the server, by reason", "reason");
  const resets = total("resets", "Ends of sessions: connections reset, found to need none, or failing it", "outcome");
  const pins = total("pins", "Sessions that left something only a reset undoes, by reason", "reason");
  const dials = total("dials", "New connections to the server, by how that ended", "outcome");
  const closed = total("backends_closed", "Connections to the server that were closed, by reason", "reason");
  const commands = total("commands", "Commands of clients", "command");
  const errors = total("errors", "Error packets of the server, by class", "class");
  const slow = total("slow_queries", "Statements slower than slow_query");
  const bytes = total("bytes", "Bytes read from clients and sent to them", "direction");
  const learned = total("learned", "Statements the proxy answered itself, by kind", "kind");
  const auth = total("auth_failures", "Logins refused, by plugin", "plugin");
  const wait = meter.histograms("fairlead_db_checkout_wait_seconds", "Wait for a connection to the server", waits, [
    "db",
  ]);
  const seconds = meter.histograms("fairlead_db_query_seconds", "Time of statements, without the wait", times, ["db"]);

  return (db) => {
    const command = byCommand(commands, db);
    const error = byCode(errors, db);
    const failure = each(auth, db, [...plugins, "other"]);
    return {
      wait: wait.with(db),
      refused: each(refused, db, refusalReasons),
      resets: resets.with(db, "done"),
      resetsSkipped: resets.with(db, "skipped"),
      resetsFailed: resets.with(db, "failed"),
      pins: each(pins, db, Object.keys(residues) as Residue[]),
      dials: dials.with(db, "ok"),
      dialsFailed: each(dials, db, dialFailures),
      closed: each(closed, db, closeReasons),
      command,
      error,
      seconds: seconds.with(db),
      slow: slow.with(db),
      fromClients: bytes.with(db, "from_clients"),
      toClients: bytes.with(db, "to_clients"),
      learnedSets: learned.with(db, "set"),
      learnedReads: learned.with(db, "read"),
      authFailed: (plugin) => (Object.hasOwn(failure, plugin) ? failure[plugin]! : failure["other"]!).inc(),
    };
  };
}

function registerGauges(meter: Meter, read: () => Iterable<{ readonly name: string; pool(): PoolReport }>): void {
  const gauge = (name: string, help: string, value: (pool: PoolReport) => number) =>
    meter.gauges(`fairlead_db_${name}`, help, ["db"], function* (): Generator<Sample> {
      for (const db of read()) yield [[db.name], value(db.pool())];
    });
  gauge("up", "Whether the last try to reach the server succeeded", ({ up }) => Number(up));
  gauge("backends_limit", "Most connections to the server", ({ limit }) => limit);
  gauge("oldest_wait_seconds", "How long the first in line has waited", ({ oldestWaitMs }) => oldestWaitMs / 1000);
  meter.gauges("fairlead_db_clients", "Sessions of clients", ["db", "state"], function* (): Generator<Sample> {
    for (const db of read()) {
      const { clients } = db.pool();
      for (const state of clientStates) yield [[db.name, state], clients[state]];
    }
  });
  const help = "Connections to the server";
  meter.gauges("fairlead_db_backends", help, ["db", "state"], function* (): Generator<Sample> {
    for (const db of read()) {
      const { backends } = db.pool();
      for (const state of backendStates) yield [[db.name, state], backends[state]];
    }
  });
}

/** One child for each value of the second label. */
function each<K extends string>(family: Family<Counter>, db: string, values: readonly K[]): Record<K, Counter> {
  return Object.fromEntries(values.map((value) => [value, family.with(db, value)])) as Record<K, Counter>;
}

/** Counts by command byte; bytes that are no command together. */
function byCommand(family: Family<Counter>, db: string): (byte: number) => void {
  const other = family.with(db, "other");
  const counters: Counter[] = new Array(256).fill(other);
  for (const [name, byte] of Object.entries(COM)) counters[byte] = family.with(db, name.toLowerCase());
  return (byte) => (counters[byte] ?? other).inc();
}

/** Counts by an error's class. */
function byCode(family: Family<Counter>, db: string): (code: number) => void {
  const other = family.with(db, "other");
  const counters = new Map<number, Counter>();
  for (const [name, codes] of Object.entries(errorClasses)) {
    const counter = family.with(db, name);
    for (const code of codes) counters.set(code, counter);
  }
  return (code) => (counters.get(code) ?? other).inc();
}
