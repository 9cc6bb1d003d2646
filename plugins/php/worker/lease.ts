import type { ExecutionLease } from "../execution_pool.ts";
import type { ReplySink } from "../reply_sink.ts";
import type { WorkerRequest } from "./handle.ts";
import type { Member } from "./member.ts";
import { workerGone } from "./report.ts";

/** What a lease tells its pool. */
export interface LeaseOwner {
  /** The lease is over; `onFree` is owed as soon as a worker is there for someone else. */
  onLeaseOver(onFree: (() => void) | undefined): void;
  /** As above, once what became of the worker is settled. */
  afterLease(): void;
}

/** The right to use one worker for one request. */
export class WorkerLease implements ExecutionLease<WorkerRequest> {
  readonly #member: Member;
  readonly #owner: LeaseOwner;
  #over = false;
  readonly pid: number;

  constructor(member: Member, owner: LeaseOwner) {
    this.#member = member;
    this.#owner = owner;
    this.pid = member.pid;
  }

  get alive(): boolean {
    return !this.#over && this.#member.lease === this;
  }

  /** Sends the request: one for each lease. */
  send(request: WorkerRequest, sink: ReplySink): void {
    if (this.alive) this.#member.send(request, sink);
    else sink.onFail(workerGone(), "unsent");
  }

  pause(): void {
    if (this.alive) this.#member.pause();
  }

  resume(): void {
    if (this.alive) this.#member.resume();
  }

  done(onFree?: () => void): void {
    this.#end(onFree, (member) => member.finish());
  }

  kill(reason: "killed" | "timeout", onFree?: () => void): void {
    this.#end(onFree, (member) => member.end(reason));
  }

  hangUp(onFree?: () => void): void {
    this.#end(onFree, (member) => member.hangUp());
  }

  #end(onFree: (() => void) | undefined, settle: (member: Member) => void): void {
    if (this.#over) return;
    const alive = this.alive;
    this.#over = true;
    this.#owner.onLeaseOver(onFree);
    if (alive) {
      this.#member.lease = undefined;
      settle(this.#member);
    }
    this.#owner.afterLease();
  }
}
