/**
 * What a bulkhead in Redis must be, told a second time and as plainly as can be: lists, and everything looked at on each call. No
 * batches, no hints of what is next, no stored sums.
 *
 * @module
 */
export interface ModelHolder {
  readonly id: string;
  readonly weight: number;
  readonly lease: number;
  ends: number;
  readonly fence: number;
}

export interface ModelWaiter {
  readonly id: string;
  readonly weight: number;
  readonly lease: number;
  /** Infinity: none. */
  readonly deadline: number;
  ends: number;
  readonly ticket: number;
}

export class Model {
  limit = 0;
  holders: ModelHolder[] = [];
  waiters: ModelWaiter[] = [];
  fence = 0;
  seq = 0;
  /** Messages sent, as the script writes them. */
  messages: string[] = [];
  lost: string[] = [];
  epoch = "";
  readonly #name: string;
  #last = 0;
  #shift = 0;
  #wall = 0;

  constructor(name: string) {
    this.#name = name;
  }

  get used(): number {
    return this.holders.reduce((sum, one) => sum + one.weight, 0);
  }

  get now(): number {
    return this.#wall + this.#shift;
  }

  /** Every operation begins with this: the server's clock, and what has ended by it. */
  at(wall: number, host: string, dueFirst = true): void {
    this.#wall = wall;
    if (wall + this.#shift < this.#last) this.#shift = this.#last - wall;
    this.#last = this.now;
    if (this.epoch === "") this.epoch = `${host}-${wall}`;
    if (!dueFirst) return;
    const over = this.holders.filter((one) => one.ends <= this.now);
    this.lost.push(...over.map((one) => one.id));
    this.holders = this.holders.filter((one) => one.ends > this.now);
    this.waiters = this.waiters.filter((one) => one.ends > this.now);
  }

  grant(shrunk = false): void {
    for (;;) {
      const head = this.waiters[0];
      if (head === undefined || (this.used >= this.limit && !shrunk)) return;
      if (head.weight > this.limit) {
        this.waiters.shift();
        this.messages.push(`${this.#name} ${head.id} -1`);
        continue;
      }
      if (this.used + head.weight > this.limit) return;
      this.waiters.shift();
      this.#hold(head.id, head.weight, head.lease, this.#nextFence());
      this.messages.push(`${this.#name} ${head.id} ${this.fence}`);
    }
  }

  acquire(
    ask: { id: string; weight: number; lease: number; wait: number; most: number; limit: number; declare: boolean },
    silence: number,
  ): string {
    const before = this.limit;
    if (ask.declare || this.limit === 0) this.limit = ask.limit;
    this.grant(this.limit < before);
    const known = this.holders.find((one) => one.id === ask.id);
    if (known) {
      known.ends = this.now + ask.lease;
      return `granted ${known.fence}`;
    }
    const queued = this.waiters.find((one) => one.id === ask.id);
    if (queued) return `queued ${queued.ticket}`;
    if (ask.weight > this.limit) return `weight ${this.limit}`;
    if (this.waiters.length === 0 && this.used + ask.weight <= this.limit) {
      this.#hold(ask.id, ask.weight, ask.lease, this.#nextFence());
      return `granted ${this.fence}`;
    }
    if (ask.wait === 0) return "full 0";
    if (this.waiters.length >= ask.most) return "queue_full 0";
    this.seq = Math.max(this.seq + 1, this.now * 1024);
    const deadline = this.now + ask.wait;
    this.waiters.push({ ...ask, deadline, ends: Math.min(deadline, this.now + silence), ticket: this.seq });
    return `queued ${this.seq}`;
  }

  leave(id: string, keep: boolean): number {
    const queued = this.waiters.some((one) => one.id === id);
    this.waiters = this.waiters.filter((one) => one.id !== id);
    const held = this.holders.find((one) => one.id === id);
    if (held && keep) held.ends = this.now + held.lease;
    if (held && !keep) this.holders = this.holders.filter((one) => one !== held);
    this.grant();
    return queued || !held || !keep ? -1 : held.fence;
  }

  release(ids: readonly string[]): boolean[] {
    const were = ids.map((id, i) => this.holders.some((one) => one.id === id) && ids.indexOf(id) === i);
    this.holders = this.holders.filter((one) => !ids.includes(one.id));
    this.grant();
    return were;
  }

  beat(ids: readonly string[], silence: number): (boolean | undefined)[] {
    this.grant();
    return ids.map((id) => {
      const held = this.holders.find((one) => one.id === id);
      const queued = this.waiters.find((one) => one.id === id);
      if (held) held.ends = this.now + held.lease;
      if (queued) queued.ends = Math.min(queued.deadline, this.now + silence);
      return held ? true : queued ? false : undefined;
    });
  }

  setLimit(limit: number): void {
    const before = this.limit;
    this.limit = limit;
    this.grant(limit < before);
  }

  adopt(
    calls: readonly { id: string; weight: number; leaseMs: number; fence: number; epoch: string; force: boolean }[],
    limit: number,
  ): boolean[] {
    if (this.limit === 0) this.limit = limit;
    const there = calls.map(({ id, weight, leaseMs, fence, epoch, force }) => {
      const held = this.holders.find((one) => one.id === id);
      if (held) held.ends = this.now + leaseMs;
      if (held) return true;
      if (epoch === this.epoch || (!force && this.used + weight > this.limit)) return false;
      this.waiters = this.waiters.filter((one) => one.id !== id);
      this.fence = Math.max(this.fence, fence);
      this.#hold(id, weight, leaseMs, fence);
      return true;
    });
    this.grant();
    return there;
  }

  /** All is gone, as with FLUSHALL. */
  forget(): void {
    [this.limit, this.fence, this.seq, this.#last, this.#shift, this.epoch] = [0, 0, 0, 0, 0, ""];
    [this.holders, this.waiters] = [[], []];
  }

  #hold(id: string, weight: number, lease: number, fence: number): void {
    this.holders.push({ id, weight, lease, ends: this.now + lease, fence });
  }

  #nextFence(): number {
    return this.fence = Math.max(this.fence + 1, this.now * 1024);
  }
}
