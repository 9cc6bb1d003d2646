import type { Hono } from "hono";
import { Deadlines } from "./deadlines.ts";
import { CoreError } from "./error.ts";
import type { Exchange, Outcome } from "./exchange.ts";
import { attempt, blame, first, type HookTable, thenable, wrap } from "./hooks.ts";
import { answer, refuse } from "./http/answers.ts";
import type { BaseExchange } from "./http/exchange.ts";
import type { Awaitable, Execution, Log, Permit, PublicEnv } from "./plugin.ts";
import { behind } from "./routes.ts";

/** How long after its deadline (ms) an exchange is answered for those who should have. */
const lateMs = 500;

/**
 * Takes exchanges through the hooks: `onRequest` around everything, then routes, then `onResolve`, `onAdmit` and the
 * execution; `onResponse` after the last byte. Without a promise as long as no plugin gives one.
 */
export class Pipeline {
  /** Exchanges that have begun and not ended. */
  inFlight = 0;
  /** Set while the server stops: connections are not kept after their response. */
  draining = false;
  readonly #table: HookTable;
  readonly #log: Log;
  readonly #respond: (x: BaseExchange) => Awaitable<Response>;
  readonly #awaited = new Deadlines<BaseExchange>(lateMs, (x) => this.#tooLate(x));

  constructor(table: HookTable, site: Hono<PublicEnv>, log: Log) {
    this.#table = table;
    this.#log = log;
    const inner = (x: Exchange) => this.#resolve(x as BaseExchange);
    this.#respond = wrap(table.onRequest, site.routes.length === 0 ? inner : behind(site, inner));
  }

  /** Answers one exchange; never throws and never rejects. */
  handle(x: BaseExchange): Awaitable<Response> {
    this.inFlight++;
    try {
      const found = x.problem === 0 ? this.#respond(x) : refuse(x.problem);
      return thenable(found) ? this.#whenAnswered(x, found as Promise<Response>) : this.#finish(x, found as Response);
    } catch (error) {
      return this.#fail(x, error);
    }
  }

  /** Answers with what comes, or with 504 when nothing has by the deadline. */
  #whenAnswered(x: BaseExchange, later: Promise<Response>): Promise<Response> {
    return new Promise((resolve) => {
      x.answer = resolve;
      // Who holds the permits keeps to the deadline too.
      if (!x.held) this.#awaited.add(x);
      later.then((response) => this.#answered(x, response), (error) => this.#failed(x, error));
    });
  }

  #answered(x: BaseExchange, response: Response): void {
    this.#awaited.delete(x);
    if (x.answer !== undefined) return this.#settle(x, this.#finish(x, response));
    this.#over(x);
    response.body?.cancel().catch(() => {});
  }

  #failed(x: BaseExchange, error: unknown): void {
    this.#awaited.delete(x);
    if (x.answer !== undefined) this.#settle(x, this.#fail(x, error));
    else this.#over(x);
  }

  #tooLate(x: BaseExchange): void {
    const message = `No answer within ${Math.round(x.deadline - x.started)} ms`;
    x.late = true;
    this.#settle(x, this.#fail(x, new CoreError("REQUEST_TIMEOUT", message, { status: 504 })));
  }

  #settle(x: BaseExchange, response: Response): void {
    const { answer } = x;
    x.answer = undefined;
    answer!(response);
  }

  /** What ran past its deadline has ended. */
  #over(x: BaseExchange): void {
    if (!x.held) x.release();
  }

  #fail(x: BaseExchange, error: unknown): Response {
    const { id, method, target } = x;
    const status = error instanceof CoreError ? error.status ?? 500 : 500;
    if (status >= 500) this.#log("error", "request failed", { id, method, target, error });
    else this.#log("debug", "request refused", { id, target, error });
    return this.#finish(x, status >= 500 ? answer(status) : refuse(status), error);
  }

  #finish(x: BaseExchange, response: Response, error?: unknown): Response {
    const out = x.stamp(response);
    if (this.draining) out.headers.set("connection", "close");
    if (x.bytes < 0 && x.sent === undefined) x.bytes = bytesOf(x, out);
    if (x.sent === undefined) this.#end(x, response.status, error);
    else x.sent.then(() => this.#end(x, response.status, error), (cause) => this.#end(x, response.status, cause));
    return x.seal(out);
  }

  #end(x: BaseExchange, status: number, error: unknown): void {
    this.inFlight--;
    if (!x.held && !x.late) x.release();
    const outcome: Outcome = { status, ms: performance.now() - x.started, bytes: x.bytes, error };
    for (const { plugin, run } of this.#table.onResponse) {
      try {
        run(x, outcome);
      } catch (cause) {
        this.#log("warn", "onResponse failed", { plugin, error: cause });
      }
    }
  }

  /** Says what would answer the exchange, and has it do so. */
  #resolve(x: BaseExchange): Awaitable<Response> {
    const found = first("onResolve", this.#table.onResolve, x);
    return thenable(found)
      ? (found as Promise<Execution | Response | undefined>).then((settled) => this.#execute(x, settled))
      : this.#execute(x, found as Execution | Response | undefined);
  }

  #execute(x: BaseExchange, found: Execution | Response | undefined): Awaitable<Response> {
    if (found === undefined) return answer(404);
    return found instanceof Response ? found : this.#admit(x, found, 0);
  }

  /** Asks the gates from the given one on, then runs. */
  #admit(x: BaseExchange, execution: Execution, from: number): Awaitable<Response> {
    const gates = this.#table.onAdmit;
    for (let i = from; i < gates.length; i++) {
      const { plugin, run } = gates[i]!;
      const verdict = attempt(plugin, "onAdmit", run, x, execution);
      if (thenable(verdict)) return this.#admitLater(x, execution, i, verdict as Promise<Permit | Response | void>);
      const refusal = keep(x, verdict as Permit | Response | void);
      if (refusal !== undefined) return refusal;
    }
    return execution.run(x);
  }

  async #admitLater(
    x: BaseExchange,
    execution: Execution,
    at: number,
    verdict: Promise<Permit | Response | void>,
  ): Promise<Response> {
    let settled: Permit | Response | void;
    try {
      settled = await verdict;
    } catch (cause) {
      return blame(this.#table.onAdmit[at]!.plugin, "onAdmit", cause);
    }
    return keep(x, settled) ?? await this.#admit(x, execution, at + 1);
  }
}

/** What a response that nobody counts will send, where it says so. */
function bytesOf({ method }: BaseExchange, { body, headers }: Response): number {
  const length = headers.get("content-length");
  return body === null || method === "HEAD" ? 0 : length === null ? -1 : Number(length);
}

/** Keeps a permit for the exchange; hands a refusal on. */
function keep(x: BaseExchange, verdict: Permit | Response | void): Response | undefined {
  if (verdict instanceof Response) return verdict;
  if (verdict) x.keep(verdict);
  return undefined;
}
