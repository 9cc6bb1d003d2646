import type { Gate, Refusal } from "../../core/contracts/gates.ts";
import type { AdmissionOptions, AdmissionRules } from "./admission_options.ts";
import { type Clock, systemClock } from "../../core/clock.ts";
import { createGate } from "./create_gate.ts";
import { refusal } from "./refusal.ts";
import { serverTiming } from "./server_timing.ts";
import { Visit } from "./visit.ts";

/** Lets requests in by rules, or answers in their place: what `admit` and `fairAdmission` have in common. */
export class Entrance<R> {
  readonly #gate: Gate;
  readonly #rules: AdmissionRules<R>;
  readonly #clock: Clock;
  /** The gate has to see class and key, so no permit is taken without a waiter. */
  readonly #marked: boolean;

  constructor(options: AdmissionOptions<R>) {
    this.#gate = "gate" in options ? options.gate : createGate({ maxQueue: 1000, grace: 10_000, ...options });
    this.#rules = options;
    this.#clock = options.clock ?? systemClock;
    this.#marked = options.class !== undefined || options.key !== undefined;
  }

  exempts(subject: R): boolean {
    return this.#rules.exempt?.(subject) === true;
  }

  /** `request` is read for its signal, and only if there is no permit at once: on some runtimes making one is dear. */
  async enter(subject: R, request: Request): Promise<Visit | Response> {
    const visit = this.#visit(subject);
    if (!this.#marked && visit.tryEnter()) return visit;
    const reason = await visit.enter(request.signal);
    return reason === undefined ? visit : this.#refuse(subject, reason, visit.waitedMs);
  }

  #visit(subject: R): Visit {
    const { weight, deadline, class: classOf, key } = this.#rules;
    const within = typeof deadline === "function" ? deadline(subject) : deadline;
    return new Visit(this.#gate, {
      weight: typeof weight === "function" ? weight(subject) : weight ?? 1,
      deadline: within === undefined ? undefined : this.#clock.now() + within,
      criticality: classOf?.(subject),
      key: key?.(subject),
    });
  }

  async #refuse(subject: R, reason: Refusal, waitedMs: number): Promise<Response> {
    const usual = serverTiming(refusal(reason, () => this.#gate.retryAfter()), waitedMs);
    return await this.#rules.onRefuse?.(subject, { reason, waitedMs, response: usual }) ?? usual;
  }
}
