/**
 * The file `run.ts` writes and `report.ts` reads.
 *
 * @module
 */
import type { Machine } from "../support/machine.ts";
import type { Work } from "./experiments.ts";
import type { MemoryResult } from "./memory.ts";
import type { Sample, ServerKind } from "./summary.ts";

export interface ReportProcess {
  readonly server: ServerKind;
  readonly arm: string;
  readonly executable: string;
  readonly command: readonly string[];
  readonly config: Readonly<Record<string, string>>;
}

export interface Report {
  readonly format: 1;
  readonly startedAt: string;
  readonly machine: Machine;
  readonly rounds: number;
  readonly delayMs: number;
  /** Versions of the servers, as they say themselves. */
  readonly servers: Partial<Record<ServerKind, string>>;
  readonly databaseOptions: readonly string[];
  readonly arms: Readonly<Record<string, string>>;
  readonly processes: readonly ReportProcess[];
  readonly works: readonly Work[];
  readonly samples: readonly Sample[];
  readonly memory: readonly MemoryResult[];
}
