import type { Counter, Family, Histogram, Meter } from "../../core/contracts/meter.ts";
import type { Exchange, Outcome } from "../../core/exchange.ts";
import { doubling } from "./buckets.ts";
import { OTHER } from "./metric.ts";

/** Seconds, from 0.25 ms to 65 s. */
export const durationBounds: readonly number[] = doubling(0.00025, 19);

/** Methods with a label of their own; a client can invent others without end. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"]);

/** Handlers with labels of their own; they are plugin names, so a real server has a handful. */
const HANDLERS = 50;

interface HttpFamilies {
  readonly requests: Family<Counter>;
  readonly seconds: Family<Histogram>;
  readonly bytes: Family<Counter>;
  readonly failures: Family<Counter>;
}

/** The children of one handler, so that an exchange is counted with two map look-ups and an index. */
class HandlerMetrics {
  readonly seconds: Histogram;
  readonly bytes: Counter;
  readonly failures: Counter;
  /** By method, then by status. */
  readonly #requests = new Map<string, Counter[]>();
  readonly #families: HttpFamilies;
  readonly #handler: string;

  constructor(families: HttpFamilies, handler: string) {
    this.#families = families;
    this.#handler = handler;
    this.seconds = families.seconds.with(handler);
    this.bytes = families.bytes.with(handler);
    this.failures = families.failures.with(handler);
    for (const method of [...METHODS, "OTHER"]) this.#requests.set(method, []);
  }

  requests(method: string, status: number): Counter {
    const known = this.#requests.get(method);
    if (known === undefined) return this.requests("OTHER", status);
    return known[status] ?? this.#resolve(known, method, status);
  }

  #resolve(known: Counter[], method: string, status: number): Counter {
    const usable = Number.isInteger(status) && status >= 100 && status <= 999 ? status : 0;
    return known[usable] ??= this.#families.requests.with(method, String(usable), this.#handler);
  }
}

/**
 * Counts exchanges: call `ended` after the last byte of each.
 *
 * @example
 * ```ts
 * const http = new HttpMetrics(registry);
 * http.ended(x, { status: 200, ms: 12.5, bytes: 4096, error: undefined });
 * ```
 */
export class HttpMetrics {
  readonly #families: HttpFamilies;
  readonly #handlers = new Map<string, HandlerMetrics>();

  constructor(meter: Meter, bounds: readonly number[] = durationBounds) {
    this.#families = {
      requests: meter.counters(
        "fairlead_http_requests_total",
        "Requests answered, by method (OTHER when it is not a standard one), status (0 when none was sent) and handler",
        ["method", "status", "handler"],
      ),
      seconds: meter.histograms(
        "fairlead_http_request_duration_seconds",
        "From a request's arrival to the last byte of its response, waiting included",
        bounds,
        ["handler"],
      ),
      bytes: meter.counters("fairlead_http_response_bytes_total", "Bytes of response bodies sent", ["handler"]),
      failures: meter.counters(
        "fairlead_http_responses_failed_total",
        "Responses that failed or were cut off before the last byte",
        ["handler"],
      ),
    };
  }

  ended(x: Exchange, outcome: Outcome): void {
    const metrics = this.#handlers.get(x.handler) ?? this.#resolve(x.handler);
    metrics.requests(x.method, outcome.status).inc();
    metrics.seconds.observe(outcome.ms / 1000);
    if (outcome.bytes > 0) metrics.bytes.inc(outcome.bytes);
    if (outcome.error !== undefined && outcome.error !== null) metrics.failures.inc();
  }

  #resolve(handler: string): HandlerMetrics {
    // An empty label value means no label to Prometheus.
    const name = this.#handlers.size < HANDLERS ? handler || "none" : OTHER;
    const known = this.#handlers.get(name);
    if (known !== undefined) return known;
    const metrics = new HandlerMetrics(this.#families, name);
    this.#handlers.set(name, metrics);
    return metrics;
  }
}
