import type { Exchange } from "../../core/exchange.ts";
import { thenable } from "../../core/hooks.ts";
import { calledHost } from "../../core/http/host.ts";
import { pathPattern } from "../../core/http/path_pattern.ts";
import type { Awaitable, Permit } from "../../core/plugin.ts";
import { type RouteTable, termsOf } from "./config.ts";
import { type Limits, type Terms, usualLease } from "./limits.ts";
import { keyedOrLong } from "./name.ts";
import { refusal } from "./refusal.ts";
import { requestKey } from "./request_key.ts";
import type { RequestOwners } from "./request_owners.ts";
import { settled } from "./settled.ts";
import type { BulkheadAsk, BulkheadStore } from "./store.ts";
import { acquireWithin, type Denied, type Held } from "./within.ts";

/** A wait (ms) after which listeners have looked for clients that left anyway. */
const shortMs = 50;

/** Makes the test for the requests of a route. `*` in a host stands for anything, dots included. */
function matcher({ path, host, method }: RouteTable): (x: Exchange) => boolean {
  const paths = path?.map(pathPattern);
  const hosts = host?.map((name) => pathPattern(name.toLowerCase()));
  const methods = method?.map((name) => name.toUpperCase());
  return (x) => {
    if (methods !== undefined && !methods.includes(x.method)) return false;
    if (paths !== undefined && !paths.some((pattern) => pattern.test(x.path))) return false;
    if (hosts === undefined) return true;
    const name = `/${calledHost(x.host)}`;
    return hosts.some((pattern) => pattern.test(name));
  };
}

/** A route with a cap: requests that match wait for its permit ahead of every other gate, while they hold nothing. */
export class CappedRoute {
  readonly matches: (x: Exchange) => boolean;
  readonly #store: BulkheadStore;
  readonly #name: string;
  readonly #limit: number;
  readonly #terms: Terms;
  readonly #around: Pick<BulkheadAsk, "name" | "limit"> | undefined;
  readonly #key: ((x: Exchange) => string) | undefined;
  readonly #requests: RequestOwners;
  readonly #waiting = new Set<AbortController>();
  readonly #now: () => number;
  #draining = false;

  /**
   * `limits`: where it and the bulkhead around it have their terms, as far as `route` does not say; `requests`: told who holds a
   * permit; `now`: the clock of `Exchange.deadline`.
   *
   * @throws CoreError `BULKHEAD_UNKNOWN` for a bulkhead without a limit
   */
  constructor(store: BulkheadStore, route: RouteTable, limits: Limits, requests: RequestOwners, now: () => number) {
    const { limit, terms, around } = settled(route, termsOf(route.name, route), limits);
    this.matches = matcher(route);
    this.#store = store;
    this.#name = route.name;
    this.#limit = limit;
    this.#around = around;
    this.#terms = terms;
    this.#key = requestKey(route.key);
    this.#requests = requests;
    this.#now = now;
  }

  /** Refuses who waits and who comes. */
  drain(): void {
    this.#draining = true;
    for (const aborter of this.#waiting) aborter.abort();
  }

  admit(x: Exchange): Awaitable<Permit | Response> {
    if (this.#draining) return this.#refuse(x, { granted: false, reason: "draining", waitedMs: 0, retryAfterMs: 0 });
    const aborter = new AbortController();
    const ask = this.#ask(x, aborter.signal);
    const answer: Awaitable<Held | Denied> = this.#around === undefined
      ? this.#store.acquire(ask)
      : acquireWithin(this.#store, ask, this.#around);
    if (!thenable(answer)) return this.#answer(x, answer as Held | Denied);
    this.#waiting.add(aborter);
    const stay = x.onGone(() => aborter.abort());
    return Promise.resolve(answer).then((settled) => this.#answer(x, settled)).finally(() => {
      stay();
      this.#waiting.delete(aborter);
    });
  }

  #ask(x: Exchange, signal: AbortSignal): BulkheadAsk {
    const { lease = usualLease, maxWait = 0, maxQueue } = this.#terms;
    const key = this.#key?.(x);
    return {
      name: key === undefined ? this.#name : keyedOrLong(this.#name, key),
      limit: this.#limit,
      weight: 1,
      leaseMs: lease,
      maxWaitMs: Math.min(maxWait, Math.max(x.deadline - this.#now(), 0)),
      ...(maxQueue === undefined ? undefined : { maxQueue }),
      owner: x,
      signal,
    };
  }

  #answer(x: Exchange, answer: Held | Denied): Permit | Response {
    const { waitedMs } = answer;
    if (waitedMs > 0) x.extra.push(["server-timing", `bulkhead;dur=${waitedMs.toFixed(1)}`]);
    if (!answer.granted) return this.#refuse(x, answer);
    this.#requests.add(x);
    const permit: Permit = {
      release: () => {
        this.#requests.delete(x);
        const released = answer.release();
        // What the store cannot be told now the lease ends.
        if (thenable(released)) Promise.resolve(released).catch(() => {});
      },
    };
    // Who has left is heard of a little late: a last look keeps his request from running.
    if (waitedMs > shortMs && x.gone) {
      permit.release();
      return this.#refuse(x, { granted: false, reason: "cancelled", waitedMs, retryAfterMs: 0 });
    }
    return permit;
  }

  #refuse(x: Exchange, denial: Denied): Response {
    x.handler = "bulkhead";
    const reason = denial.reason === "cancelled" && this.#draining ? "draining" : denial.reason;
    const late = reason === "timeout" && this.#now() >= x.deadline;
    return refusal(late ? "late" : reason, denial.retryAfterMs, this.#key !== undefined && !denial.around);
  }
}
