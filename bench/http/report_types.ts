/**
 * The file `run.ts` writes and `report.ts` reads.
 *
 * @module
 */
import type { PhpFacts } from "./identity.ts";
import type { Machine } from "../support/machine.ts";
import type { Page } from "./pages.ts";
import type { Cell, Sample } from "./summary.ts";

export interface ReportArm {
  readonly name: string;
  readonly about: string;
  readonly servers: readonly {
    readonly id: string;
    readonly command: readonly string[];
    readonly executable: string;
    readonly config: Readonly<Record<string, string>>;
  }[];
  readonly php: PhpFacts | undefined;
  /** Settings of this arm's PHP that are not the control's. */
  readonly phpDifferences: readonly string[];
}

export interface Report {
  readonly format: 1;
  readonly startedAt: string;
  readonly machine: Machine;
  readonly control: string;
  readonly children: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly pages: readonly Page[];
  readonly arms: readonly ReportArm[];
  readonly bodyDifferences: readonly string[];
  readonly cells: readonly Cell[];
  readonly samples: readonly Sample[];
}
