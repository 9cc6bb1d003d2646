import type { DigestTable } from "./digests.ts";

/** `connecting` until logged in, `waiting` in line for a backend, `active` with one, `idle` without. */
export type ClientState = "connecting" | "idle" | "waiting" | "active";
export const clientStates: readonly ClientState[] = ["connecting", "idle", "waiting", "active"];

export type BackendState = "connecting" | "idle" | "used" | "resetting";
export const backendStates: readonly BackendState[] = ["connecting", "idle", "used", "resetting"];

/** A pool as it is now. */
export interface PoolReport {
  /** Where the server is: `HOST:PORT` or a path; never with credentials. */
  readonly server: string;
  /** As the server says it; undefined until it was reached. */
  readonly version: string | undefined;
  /** Whether the last try to reach the server succeeded. */
  readonly up: boolean;
  /** Most backends at once. */
  readonly limit: number;
  readonly clients: Readonly<Record<ClientState, number>>;
  readonly backends: Readonly<Record<BackendState, number>>;
  /** How long the first in line has waited, in ms; 0 when nobody waits. */
  readonly oldestWaitMs: number;
}

/** One database of a report. */
export interface DatabaseReport {
  readonly name: string;
  readonly digests: DigestTable;
  pool(): PoolReport;
}

/** What admin routes and metrics read. */
export interface DbReport {
  databases(): readonly DatabaseReport[];
}
