/**
 * Reads what the script says it did, entry by entry, and finds what must not be.
 *
 * @module
 */
interface State {
  readonly holders: Map<string, number>;
  /** Waiter to ticket. */
  readonly queue: Map<string, number>;
  fence: number;
}

export class Judge {
  readonly faults: string[] = [];
  entries = 0;
  grants = 0;
  queued = 0;
  lost = 0;
  adopted = 0;
  #states = new Map<string, State>();

  /** The data is gone, and the log with it. Fences go on all the same. */
  forget(): void {
    for (const state of this.#states.values()) {
      state.holders.clear();
      state.queue.clear();
    }
  }

  read(entry: Readonly<Record<string, string>>): void {
    this.entries++;
    const { name = "", what = "", id = "", w = "0", fence = "0", ticket = "0", limit = "0", used = "0" } = entry;
    let state = this.#states.get(name);
    if (state === undefined) this.#states.set(name, state = { holders: new Map(), queue: new Map(), fence: 0 });
    const { holders, queue } = state;
    if (what === "grant") {
      this.grants++;
      if (Number(ticket) > 0) {
        for (const [other, before] of queue) {
          if (before < Number(ticket)) this.#fault(entry, `passed ${other} (${before})`);
        }
        if (!queue.delete(id)) this.#fault(entry, "was not in line");
      } else if (queue.size > 0) this.#fault(entry, `passed a line of ${queue.size}`);
      if (Number(fence) <= state.fence) this.#fault(entry, `has a fence that is not above ${state.fence}`);
      state.fence = Number(fence);
      this.#hold(entry, holders, Number(limit), id, Number(w));
    } else if (what === "adopt") {
      this.adopted++;
      queue.delete(id);
      state.fence = Math.max(state.fence, Number(fence));
      this.#hold(entry, holders, Number(limit), id, Number(w));
    } else if (what === "queue") {
      this.queued++;
      queue.set(id, Number(ticket));
    } else if (what === "release" || what === "lost") {
      if (what === "lost") this.lost++;
      if (!holders.delete(id)) this.#fault(entry, "was not held");
    } else if (["left", "given up", "too heavy"].includes(what)) {
      if (!queue.delete(id)) this.#fault(entry, "was not in line");
    }
    const sum = [...holders.values()].reduce((a, b) => a + b, 0);
    if (sum !== Number(used)) this.#fault(entry, `holders have ${sum}`);
  }

  #hold(entry: object, holders: Map<string, number>, limit: number, id: string, weight: number): void {
    holders.set(id, weight);
    const sum = [...holders.values()].reduce((a, b) => a + b, 0);
    if (sum > limit) this.#fault(entry, `makes ${sum} of ${limit}`);
  }

  #fault(entry: object, what: string): void {
    if (this.faults.length >= 20) return;
    const fault = `${what}: ${JSON.stringify(entry)}`;
    this.faults.push(fault);
    // The end may be hours away.
    console.log(`FAULT ${fault}`);
  }
}

/**
 * The most permits that were in use at one moment, by the hosts' own account, and when it was above the limit. Times in ms; moments
 * within `windows` do not count.
 */
export function mostHeld(
  lines: Iterable<string>,
  limits: ReadonlyMap<string, number>,
  windows: readonly (readonly [from: number, until: number])[],
): { readonly most: ReadonlyMap<string, number>; readonly above: readonly string[]; readonly holds: number } {
  const moments = new Map<string, [at: number, change: number][]>();
  let holds = 0;
  for (const line of lines) {
    const [name = "", weight, from, until] = line.split(" ");
    if (until === undefined || Number(until) <= Number(from)) continue;
    holds++;
    const list = moments.get(name) ?? [];
    list.push([Number(from), Number(weight)], [Number(until), -Number(weight)]);
    moments.set(name, list);
  }
  const most = new Map<string, number>();
  const above: string[] = [];
  for (const [name, list] of moments) {
    // The ends first, where moments are the same.
    list.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    let held = 0;
    for (const [at, change] of list) {
      held += change;
      if (windows.some(([from, until]) => at >= from && at <= until)) continue;
      most.set(name, Math.max(most.get(name) ?? 0, held));
      if (held > limits.get(name)!) above.push(`${name}: ${held} of ${limits.get(name)} at ${at.toFixed(1)}`);
    }
  }
  return { most, above, holds };
}
