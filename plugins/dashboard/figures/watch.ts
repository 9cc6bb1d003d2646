import { type Frame, frameOf } from "./frame.ts";
import { History } from "./history.ts";
import { parseMetrics } from "./parse_metrics.ts";
import { type Relation, Scrapes } from "./scrapes.ts";

/** Follows one server: takes what it shows at `/metrics` again and again, and keeps the last five minutes. */
export class Watch {
  readonly history: History<Frame> = new History();
  readonly #scrapes = new Scrapes();
  /** When the first look was; undefined before. */
  since: number | undefined;
  /** Whether the server was seen to begin anew, and when. */
  restartedAt: number | undefined;

  /** Takes the text of a scrape at `at`, in ms of a monotonic clock. */
  take(at: number, text: string): Relation {
    this.since ??= at;
    const relation = this.#scrapes.push({ at, metrics: parseMetrics(text) });
    if (relation === "restarted") this.restartedAt = at;
    // A line through the hole would be a guess.
    if (relation === "restarted" || relation === "late") this.history.push(at - 1, undefined);
    const { last, previous, base } = this.#scrapes;
    this.history.push(at, frameOf({ now: last!, before: previous, base }));
    return relation;
  }

  /** The server did not answer. */
  miss(at: number): void {
    this.since ??= at;
    this.history.push(at, undefined);
  }
}
