/**
 * The file `run.ts` writes and `report.ts` reads.
 *
 * @module
 */
import type { Machine } from "../support/machine.ts";
import type { Gate } from "./gates.ts";
import type { OpenSample } from "./open_figures.ts";
import type { Sample } from "./window.ts";

export interface Report {
  readonly format: 1;
  readonly startedAt: string;
  readonly machine: Machine;
  readonly runtime: string;
  readonly clients: number;
  readonly children: number;
  readonly rounds: number;
  readonly pages: readonly { readonly name: string; readonly about: string }[];
  readonly arms: readonly { readonly name: string; readonly about: string }[];
  readonly openArms: readonly { readonly name: string; readonly about: string }[];
  readonly samples: readonly Sample[];
  readonly open: readonly OpenSample[];
  /** Milliseconds, and what was sent, for the section on open arrivals. */
  readonly openTerms: { readonly children: number; readonly deadline: number; readonly grace: number };
  readonly verdict: Verdict;
}

export interface NamedGate extends Gate {
  /** Page, arm, or both. */
  readonly of: string;
}

export interface Verdict {
  /** Why nothing here may be believed. */
  readonly broken: readonly string[];
  /** All gates of the discipline under test, and between arms. */
  readonly gates: readonly NamedGate[];
}
