import type { Executions } from "../../core/contracts/executions.ts";
import type { CoreError } from "../../core/error.ts";
import type { Log } from "../../core/plugin.ts";
import type { ServerFacts } from "./backend/facts.ts";
import type { DatabaseSettings } from "./config.ts";
import type { DialFailure as PoolDialFailure, PoolEvents } from "./pool/options.ts";
import { requesterOf } from "./requester.ts";
import type { Client, Executed } from "./session/host.ts";
import type { Digest } from "./sql/digest.ts";
import type { Residue } from "./sql/statement.ts";
import { DigestTable, type Sample } from "./stats/digests.ts";
import {
  type CloseReason,
  closeReasons,
  type DbCounts,
  type DialFailure,
  type RefusalReason,
} from "./stats/metrics.ts";
import { SlowLog } from "./stats/slow_log.ts";
import type { UpstreamEvents } from "./upstream.ts";

const refusals: Readonly<Record<string, RefusalReason>> = {
  DB_POOL_FULL: "full",
  DB_POOL_TIMEOUT: "timeout",
  DB_POOL_DRAINING: "draining",
};

const closes: Readonly<Record<string, CloseReason>> = {
  lost: "error",
  unprepared: "error",
  client_left: "client",
  promised: "client",
  room: "kind",
  closed: "gone",
  spoke: "unread",
  drained: "drain",
};

export interface RecorderParts {
  readonly log: Log;
  readonly counts: DbCounts;
  /** Tells which HTTP request asked for a slow statement. Nobody knows when absent. */
  readonly executions?: Executions | undefined;
  readonly now: () => number;
}

/** Counts and remembers what happens at one database. */
export class Recorder implements UpstreamEvents {
  readonly digests: DigestTable;
  readonly pool: PoolEvents;
  readonly #counts: DbCounts;
  readonly #log: Log;
  readonly #name: string;
  readonly #slow: SlowLog;
  readonly #executions: Executions | undefined;
  readonly #now: () => number;
  #problem: CoreError | undefined;

  constructor(settings: DatabaseSettings, parts: RecorderParts) {
    const { counts, log } = parts;
    this.#executions = parts.executions;
    this.#now = parts.now;
    this.#counts = counts;
    this.#log = log;
    this.#name = settings.name;
    this.digests = new DigestTable({ capacity: settings.digests });
    this.#slow = new SlowLog({ log, db: settings.name, thresholdMs: settings.slowQuery });
    this.pool = {
      dialed: () => counts.dials.inc(),
      dialFailed: (error, failure) => {
        this.problem(error);
        counts.dialsFailed[dialFailure(error, failure)].inc();
      },
      closed: (reason) => counts.closed[closeReason(reason)].inc(),
      waited: (ms) => counts.wait.observe(ms / 1000),
      refused: (code) => counts.refused[refusals[code] ?? "down"].inc(),
      breaker: (open) => {
        if (open) log("error", "the database cannot be reached", { db: this.#name, error: this.#problem });
        else log("info", "the database is reached again", { db: this.#name });
      },
    };
  }

  /** What went wrong last, until the server was reached. */
  get lastProblem(): string | undefined {
    return this.#problem?.message;
  }

  met(facts: ServerFacts): void {
    this.#problem = undefined;
    this.#log("info", "reached the database", { db: this.#name, version: facts.greeting.version });
  }

  problem(error: CoreError): void {
    this.#problem = error;
    this.#log("debug", "a connection to the database failed", { db: this.#name, error });
  }

  executed(client: Client, what: Executed, digest: Digest | undefined): void {
    const counts = this.#counts;
    counts.command(what.command);
    if (what.error !== 0) counts.error(what.error);
    counts.toClients.inc(what.bytes);
    if (digest === undefined) return;
    counts.seconds.observe(what.ms / 1000);
    let sample: Sample = {
      hash: digest.hash,
      text: () => digest.text,
      schema: what.schema ?? "",
      ms: what.ms,
      rows: what.rows,
      bytes: what.bytes,
      error: what.error !== 0,
    };
    if (this.asksWho(what.ms)) {
      sample = asked(sample, client, this.#now() - what.ms, this.#executions!);
    }
    this.digests.record(sample);
    if (this.#slow.see(sample)) counts.slow.inc();
  }

  asksWho(ms: number): boolean {
    return this.#executions !== undefined && this.#slow.isSlow(ms);
  }

  answered(kind: "set" | "read" | "use" | "ping"): void {
    if (kind === "set") this.#counts.learnedSets.inc();
    else if (kind === "read") this.#counts.learnedReads.inc();
  }

  pinned(residue: Residue): void {
    this.#counts.pins[residue].inc();
  }

  reset(result: "done" | "skipped" | "failed"): void {
    if (result === "done") this.#counts.resets.inc();
    else if (result === "skipped") this.#counts.resetsSkipped.inc();
    else this.#counts.resetsFailed.inc();
  }

  close(): void {
    this.#slow.close();
  }
}

/**
 * A statement with the request that asked for it, which is looked up at most once, and only when somebody wants it: while
 * all is slow most statements are neither logged nor the slowest of their digest.
 */
function asked(sample: Sample, client: Client, began: number, executions: Executions): Sample {
  let found: string | undefined;
  let looked = false;
  return {
    ...sample,
    get requestId() {
      if (!looked) found = requesterOf(client, began, executions);
      looked = true;
      return found;
    },
  };
}

function closeReason(reason: string): CloseReason {
  if (Object.hasOwn(closes, reason)) return closes[reason]!;
  return (closeReasons as readonly string[]).includes(reason) ? reason as CloseReason : "error";
}

function dialFailure(error: CoreError, failure: PoolDialFailure): DialFailure {
  if (failure === "busy") return "too_many";
  if (failure === "final") return "auth";
  if (error.code === "DB_TIMEOUT") return "timeout";
  if (error.code === "DB_TLS") return "tls";
  return error.code === "DB_CONNECT" ? "refused" : "other";
}
