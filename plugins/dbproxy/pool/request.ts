import type { Refusal, Waiter } from "../../../core/contracts/gates.ts";
import type { Checkout, CheckoutWaiter } from "./options.ts";

/** `queued`: in the gate's line. `seeking`: it has its permit, and no backend yet. */
export type RequestState = "queued" | "seeking" | "done";

/** What a request tells the pool. */
export interface RequestOwner<B, W> {
  granted(request: Request<B, W>): void;
  turnedAway(request: Request<B, W>, reason: Refusal): void;
  cancelled(request: Request<B, W>): void;
}

/** One checkout that could not be served at once. */
export class Request<B, W> implements Waiter, Checkout {
  readonly kind: string;
  readonly want: W;
  readonly who: CheckoutWaiter<B>;
  readonly startedAt: number;
  /** Of the line at the gate; a connection that fails from then on is not tried again for it. */
  readonly deadline: number;
  /** When it gives up seeking. */
  seekUntil: number = Infinity;
  state: RequestState = "queued";
  readonly #owner: RequestOwner<B, W>;

  constructor(
    owner: RequestOwner<B, W>,
    kind: string,
    want: W,
    who: CheckoutWaiter<B>,
    startedAt: number,
    deadline: number,
  ) {
    this.#owner = owner;
    this.kind = kind;
    this.want = want;
    this.who = who;
    this.startedAt = startedAt;
    this.deadline = deadline;
  }

  onGrant(): void {
    this.#owner.granted(this);
  }

  onRefuse(reason: Refusal): void {
    this.#owner.turnedAway(this, reason);
  }

  cancel(): void {
    if (this.state !== "done") this.#owner.cancelled(this);
  }
}
