import { sum } from "./lanes.ts";
import type { Growth, Quantiles, Span } from "./span.ts";

/** Classes of status, as they are told apart; `none`: the client left before there was one. */
export const statusClasses = ["1xx", "2xx", "3xx", "4xx", "5xx", "none"] as const;
export type StatusClass = (typeof statusClasses)[number];

/** What the public listeners have answered. */
export interface Traffic {
  readonly byStatus: Readonly<Record<StatusClass, Growth>>;
  readonly all: Growth;
  readonly inFlight: number | undefined;
  /** From arrival to the last byte, waiting included. */
  readonly duration: Quantiles;
  /** Bytes of bodies. */
  readonly sent: Growth;
  /** Responses that failed or were cut off. */
  readonly cut: Growth;
}

export function trafficOf(span: Span): Traffic {
  const name = "fairlead_http_requests_total";
  const found = span.counters(name, "status");
  const classOf = (status: string): StatusClass => /^[1-5]/.test(status) ? `${status[0]}xx` as StatusClass : "none";
  const entries = statusClasses.map((status): [StatusClass, Growth] => {
    const own = found.filter(({ label }) => classOf(label) === status);
    return [status, sum([span.nothing, ...own])];
  });
  return {
    byStatus: Object.fromEntries(entries) as Record<StatusClass, Growth>,
    all: span.counter(name),
    inFlight: span.gauge("fairlead_http_requests_in_flight"),
    duration: span.quantiles("fairlead_http_request_duration_seconds"),
    sent: span.counter("fairlead_http_response_bytes_total"),
    cut: span.counter("fairlead_http_responses_failed_total"),
  };
}
