import type { RunningExecution } from "../../core/contracts/executions.ts";
import type { Exchange } from "../../core/exchange.ts";

/** What an execution is known by to be that of a request. */
type Request = Pick<Exchange, "id" | "target" | "deadline">;

/**
 * Requests that hold a permit of a route, so that what their scripts ask for has the same owner: a script that waits for somebody who
 * waits for that route is in a circle.
 */
export class RequestOwners {
  /** Ids may be the clients' own, so several requests can have one. */
  readonly #byId = new Map<string, Set<Request>>();

  add(x: Request): void {
    const all = this.#byId.get(x.id);
    if (all === undefined) this.#byId.set(x.id, new Set([x]));
    else all.add(x);
  }

  delete(x: Request): void {
    const all = this.#byId.get(x.id);
    if (all === undefined || !all.delete(x) || all.size > 0) return;
    this.#byId.delete(x.id);
  }

  get size(): number {
    return this.#byId.size;
  }

  /** The request that `execution` works for; undefined when it is not here, or could be one of several. */
  of({ id, target, deadline }: RunningExecution): object | undefined {
    let found: Request | undefined;
    for (const x of this.#byId.get(id) ?? []) {
      if (x.target !== target || x.deadline !== deadline) continue;
      if (found !== undefined) return undefined;
      found = x;
    }
    return found;
  }
}
