/** What is asked of the model. */
export interface NaiveAsk {
  readonly id: number;
  readonly name: string;
  readonly limit: number;
  readonly weight: number;
  readonly patience: number;
  readonly lease: number;
  readonly maxQueue: number;
  readonly owner: string | undefined;
}

interface Held extends NaiveAsk {
  readonly fence: number;
  end: number;
}

interface Waits extends NaiveAsk {
  readonly since: number;
  readonly position: number;
}

interface Bulkhead {
  limit: number;
  held: Held[];
  line: Waits[];
}

/** Bulkheads as plainly as they can be written: lists that are searched, and time that is stepped from event to event. */
export class NaiveStore {
  readonly mortal: ReadonlySet<string>;
  bulkheads: Map<string, Bulkhead> = new Map();
  readonly caps: Map<string, number> = new Map();
  log: string[] = [];
  now = 0;
  fence = 0;

  constructor(mortal: ReadonlySet<string>) {
    this.mortal = mortal;
  }

  acquire(ask: NaiveAsk): void {
    const limit = Math.min(ask.limit, this.caps.get(ask.name) ?? Infinity);
    if (ask.weight > limit) return this.#say(`error ${ask.id}`);
    const at = this.#of(ask.name, limit);
    this.#resize(at, limit);
    if (at.line.length === 0 && used(at) + ask.weight <= at.limit) return this.#grant(at, ask, 0, 0);
    if (ask.patience === 0) return this.#deny(ask, "full", 0);
    if (at.line.length >= ask.maxQueue) return this.#deny(ask, "queue_full", 0);
    const waits: Waits = { ...ask, since: this.now, position: at.line.length };
    if (this.#closesCircle(waits)) return this.#deny(ask, "deadlock", 0);
    at.line.push(waits);
  }

  release(id: number): void {
    for (const at of this.bulkheads.values()) {
      at.held = at.held.filter((one) => one.id !== id);
      this.#serve(at);
    }
  }

  abort(id: number): void {
    for (const at of this.bulkheads.values()) {
      for (const one of at.line.filter((waits) => waits.id === id)) this.#leave(at, one, "cancelled");
      this.#serve(at);
    }
  }

  gone(owner: string): void {
    const waits = [...this.bulkheads.values()].flatMap((at) => at.line.filter((one) => one.owner === owner));
    for (const one of waits.sort((a, b) => b.id - a.id)) this.abort(one.id);
    const held = [...this.bulkheads.values()].flatMap((at) => at.held.filter((one) => one.owner === owner));
    for (const one of held.sort((a, b) => a.fence - b.fence)) this.release(one.id);
  }

  heard(owner: string): void {
    for (const { held } of this.bulkheads.values()) {
      for (const one of held) if (one.owner === owner) one.end = this.now + one.lease;
    }
  }

  resize(name: string, limit: number): void {
    this.caps.set(name, limit);
    const at = this.bulkheads.get(name);
    if (at !== undefined) this.#resize(at, limit);
  }

  tick(ms: number): void {
    const until = this.now + ms;
    for (;;) {
      const all = [...this.bulkheads.values()];
      const ends = all.flatMap((at) => [
        ...at.line.map((waits) => waits.since + waits.patience),
        ...at.held.filter((one) => this.mortal.has(one.owner ?? "")).map((one) => one.end),
      ]);
      const next = Math.min(...ends);
      if (next > until) break;
      this.now = next;
      for (const at of all) {
        for (const one of at.line.filter(({ since, patience }) => since + patience <= next)) {
          this.#leave(at, one, "timeout");
        }
        this.#serve(at);
      }
      const ended = all.flatMap(({ held }) =>
        held.filter((one) => this.mortal.has(one.owner ?? "") && one.end <= next)
      );
      for (const one of ended.sort((a, b) => a.fence - b.fence)) {
        this.#say(`lost ${one.id}`);
        this.release(one.id);
      }
    }
    this.now = until;
  }

  counts(name: string): unknown {
    const at = this.bulkheads.get(name);
    if (at === undefined) return undefined;
    const { limit, held, line } = at;
    return { limit, active: used(at), holders: held.length, queued: line.length };
  }

  #of(name: string, limit: number): Bulkhead {
    let at = this.bulkheads.get(name);
    if (at === undefined) this.bulkheads.set(name, at = { limit, held: [], line: [] });
    return at;
  }

  #resize(at: Bulkhead, limit: number): void {
    at.limit = limit;
    for (const one of at.line.filter(({ weight }) => weight > limit)) this.#leave(at, one, "full");
    this.#serve(at);
  }

  #leave(at: Bulkhead, one: Waits, reason: string): void {
    at.line = at.line.filter((other) => other !== one);
    this.#deny(one, reason, this.now - one.since);
  }

  #serve(at: Bulkhead): void {
    for (let head = at.line[0]; head !== undefined && used(at) + head.weight <= at.limit; head = at.line[0]) {
      at.line.shift();
      this.#grant(at, head, this.now - head.since, head.position);
    }
  }

  #grant(at: Bulkhead, ask: NaiveAsk, waited: number, position: number): void {
    at.held.push({ ...ask, fence: ++this.fence, end: this.now + ask.lease });
    this.#say(`granted ${ask.id} fence ${this.fence} after ${waited.toFixed(3)} at ${position}`);
  }

  #deny(ask: NaiveAsk, reason: string, waited: number): void {
    this.#say(`denied ${ask.id} ${reason} after ${waited.toFixed(3)}`);
  }

  #say(line: string): void {
    this.log.push(line);
  }

  /** By playing it to the end twice: as it is, and as if the owner gave back all it holds. */
  #closesCircle(asked: Waits): boolean {
    const { owner } = asked;
    if (owner === undefined) return false;
    const all = [...this.bulkheads.values()];
    const waiting = (who: string) => all.flatMap(({ line }) => line).filter((waits) => waits.owner === who).length;
    if (waiting(owner) > 0 || all.every(({ held }) => held.every((one) => one.owner !== owner))) return false;
    const stuck = new Set(
      all.flatMap(({ line }) => line.map((waits) => waits.owner ?? "")).filter((who) => waiting(who) === 1),
    );
    return !this.#plays(asked, new Set([...stuck, owner])) && this.#plays(asked, stuck);
  }

  /** Whether the ask is granted in the end when everybody goes on but the stuck, who go on when they are granted. */
  #plays(asked: Waits, stuck: Set<string>): boolean {
    const copy = new Map<string, Bulkhead>();
    for (const [name, at] of this.bulkheads) copy.set(name, { ...at, line: [...at.line] });
    copy.get(asked.name)!.line.push(asked);
    for (let moved = true; moved;) {
      moved = false;
      for (const at of copy.values()) {
        at.held = at.held.filter(({ owner }) => owner !== undefined && stuck.has(owner));
        const head = at.line[0];
        if (head === undefined || used(at) + head.weight > at.limit) continue;
        if (head === asked) return true;
        at.line.shift();
        stuck.delete(head.owner ?? "");
        moved = true;
      }
    }
    return false;
  }
}

function used({ held }: Bulkhead): number {
  return held.reduce((sum, { weight }) => sum + weight, 0);
}
