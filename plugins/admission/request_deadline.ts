/**
 * How long a client says it will wait, from the three headers in use for that:
 *
 * | header | forms |
 * |---|---|
 * | `X-Request-Deadline` | a moment, as RFC 3339 with a zone (`2026-11-30T10:15:00.250Z`) or as seconds of Unix time with up to 9 digits of fraction (`1796033700.25`); or a time from the request's arrival on, with its unit (`1500ms`, `1.5s`, `2m`) |
 * | `grpc-timeout` | 1 to 8 digits and a unit of `H M S m u n`, as gRPC over HTTP/2 has it; from the arrival on |
 * | `x-envoy-expected-rq-timeout-ms` | whole milliseconds from the arrival on; 0 is Envoy's word for none |
 *
 * Anything else is no deadline: it is ignored, as every server ignores a header that it does not know. A header that came twice
 * is joined by a comma and so says nothing either. Of several headers the earliest moment counts.
 *
 * @module
 */

/** The two clocks at one moment, in ms: the one that deadlines are on, and Unix time. */
export interface Now {
  readonly monotonic: number;
  readonly wall: number;
}

const headers = {
  own: "x-request-deadline",
  grpc: "grpc-timeout",
  envoy: "x-envoy-expected-rq-timeout-ms",
} as const;

/** RFC 3339, section 5.6. The letters may be small; a leap second is one. */
const rfc3339 = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:(?:[0-5]\d|60))(\.\d{1,9})?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
/** From 2001 to 5138: milliseconds, which have more digits, would be a moment far away and no deadline at all. */
const unixTime = /^\d{10,11}(?:\.\d{1,9})?$/;
const relative = /^(\d{1,9}(?:\.\d{1,9})?)(ms|s|m)$/;
const grpcTimeout = /^(\d{1,8})([HMSmun])$/;
const milliseconds = /^\d{1,10}$/;

const relativeUnits: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 };
const grpcUnits: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

/**
 * The earliest moment that the headers name, in ms on the clock of `started`, the arrival; `Infinity` when they name none. `now` is
 * asked only when a moment in Unix time must be brought to that clock.
 *
 * @example
 * ```ts
 * requestDeadline(new Headers({ "grpc-timeout": "250m" }), 1000, now); // 1250
 * ```
 */
export function requestDeadline(of: Pick<Headers, "get">, started: number, now: () => Now): number {
  let deadline = Infinity;
  const own = of.get(headers.own);
  if (own !== null) deadline = ownDeadline(own, started, now);
  const grpc = of.get(headers.grpc);
  if (grpc !== null) deadline = Math.min(deadline, started + amount(grpcTimeout.exec(grpc), grpcUnits));
  const envoy = of.get(headers.envoy);
  if (envoy !== null && milliseconds.test(envoy) && Number(envoy) > 0) {
    deadline = Math.min(deadline, started + Number(envoy));
  }
  return deadline;
}

function ownDeadline(text: string, started: number, now: () => Now): number {
  const wall = unixTime.test(text) ? Number(text) * 1000 : dateOf(text);
  if (wall === undefined) return started + amount(relative.exec(text), relativeUnits);
  const { monotonic, wall: present } = now();
  return monotonic + wall - present;
}

function amount(found: RegExpExecArray | null, units: Readonly<Record<string, number>>): number {
  return found === null ? Infinity : Number(found[1]) * units[found[2]!]!;
}

/** A moment of RFC 3339 in ms of Unix time. `Date.parse` alone takes the 30th of February for the 1st or 2nd of March. */
function dateOf(text: string): number | undefined {
  const found = rfc3339.exec(text);
  if (found === null) return undefined;
  const [, date, time, fraction = "", zone] = found;
  const leap = time!.endsWith("60");
  const clock = leap ? time!.replace(/60$/, "59") : time!;
  const asWritten = Date.parse(`${date}T${clock}Z`);
  if (Number.isNaN(asWritten) || new Date(asWritten).toISOString().slice(0, 10) !== date) return undefined;
  const whole = Date.parse(`${date}T${clock}${zone!.toUpperCase()}`);
  return whole + (leap ? 1000 : 0) + Number(`0${fraction}`) * 1000;
}
