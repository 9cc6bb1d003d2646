import type { Frame } from "../figures/frame.ts";
import type { History } from "../figures/history.ts";
import type { Answers } from "./answers.ts";
import type { ChartTime } from "./axis.ts";

/** Everything the page is drawn from. */
export interface View {
  /** What the charts show; its clock is that of `history`. */
  readonly time: ChartTime;
  /** Milliseconds since 1970. */
  readonly wallClock: number;
  readonly history: History<Frame>;
  /** The newest numbers there are, be they old. */
  readonly frame: Frame | undefined;
  readonly answers: Answers;
  /** Why there are no new numbers, and since when (ms since 1970). */
  readonly problem: { readonly text: string; readonly since: number } | undefined;
  /** When the server was seen to begin anew, on the clock of `time`. */
  readonly restartedAt: number | undefined;
  /** Where the metrics are, relative to the page. */
  readonly metricsPath: string;
}
