import type { Machine } from "../support/machine.ts";
import type { Sample } from "../http/summary.ts";
import type { OpenLoopResult } from "./open_loop.ts";
import type { Page } from "./sites.ts";

export interface CeilingSample {
  readonly page: string;
  readonly round: number;
  readonly throughput: number;
}

export interface OpenSample extends OpenLoopResult {
  readonly arm: string;
  readonly page: string;
  readonly round: number;
  /** The rate as a share of the capacity: answers a second to 32 clients of the same generator. */
  readonly share: number;
  readonly capacity: number;
}

/** The file `run.ts` writes and `report.ts` reads. */
export interface Report {
  readonly format: 1;
  readonly startedAt: string;
  readonly machine: Machine;
  readonly children: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly grace: number;
  readonly deadline: number;
  readonly control: string;
  readonly pages: readonly Page[];
  readonly arms: readonly { readonly name: string; readonly about: string }[];
  readonly config: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly bodyDifferences: readonly string[];
  readonly samples: readonly Sample[];
  readonly ceilings: readonly CeilingSample[];
  readonly open: readonly OpenSample[];
}
