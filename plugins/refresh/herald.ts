import type { Clock } from "../../core/clock.ts";
import type { ReloadResult, Reloads } from "../../core/contracts/reloads.ts";
import type { Change } from "./changes.ts";

/** Ms within which a part that watches a file begins to reload for it. */
const begins = 2000;

export interface HeraldOptions {
  readonly reloads: Pick<Reloads, "running" | "watched">;
  /** The folders whose stylesheets browsers know by their paths. */
  readonly roots: readonly string[];
  readonly clock: Clock;
  tell(change: Change): void;
}

/**
 * Decides what browsers are told, and when: never of new code before it answers. A file that a part of the server reloads
 * for by itself is left to that part, and what changes meanwhile waits for it.
 */
export class Herald {
  readonly #options: HeraldOptions;
  readonly #waiting = new Set<string>();
  #cancel: (() => void) | undefined;

  constructor(options: HeraldOptions) {
    this.#options = options;
  }

  filesChanged(paths: readonly string[]): void {
    const { reloads } = this.#options;
    const own = paths.filter((path) => !reloads.watched(path));
    for (const path of own) this.#waiting.add(path);
    if (own.length === 0) return;
    if (own.length === paths.length && !reloads.running && this.#cancel === undefined) return this.#tellOwn();
    this.#cancel ??= this.#options.clock.setTimer(begins, () => {
      this.#cancel = undefined;
      if (!reloads.running) this.#tellOwn();
    });
  }

  reloaded(result: ReloadResult): void {
    const refused = Object.entries(result).filter(([, why]) => why !== undefined);
    for (const [part, why] of refused) {
      this.#options.tell({ kind: "failed", text: `reload of ${part} failed: ${why}` });
    }
    if (refused.length === Object.keys(result).length) return this.#tellOwn();
    this.close();
    this.#options.tell({ kind: "reload" });
  }

  close(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#waiting.clear();
  }

  #tellOwn(): void {
    const paths = [...this.#waiting];
    this.close();
    if (paths.length > 0) this.#options.tell(this.#changeOf(paths));
  }

  #changeOf(paths: readonly string[]): Change {
    const within = (root: string) => paths.every((path) => path.endsWith(".css") && path.startsWith(`${root}/`));
    const root = this.#options.roots.find(within);
    return root === undefined
      ? { kind: "reload" }
      : { kind: "css", paths: paths.map((path) => path.slice(root.length)) };
  }
}
