/**
 * What must hold: of the harness itself, or nothing it says counts; and of a queue, to be called fair.
 *
 * @module
 */
import type { Figures } from "./figures.ts";

export interface Limits {
  /** Both ends are included; absent, there is none. */
  readonly least?: number;
  readonly most?: number;
}

export interface Gate extends Limits {
  readonly name: string;
  readonly value: number;
  readonly holds: boolean;
}

/** A figure that is not a number holds no gate. */
export function gate(name: string, value: number, { least, most }: Limits): Gate {
  const holds = value >= (least ?? -Infinity) && value <= (most ?? Infinity);
  return { name, value, ...(least === undefined ? {} : { least }), ...(most === undefined ? {} : { most }), holds };
}

export function digits(value: number): string {
  return String(Number(value.toPrecision(4)));
}

/** Reads as `at most 1.05`. */
export function expectation({ least, most }: Limits): string {
  if (least === undefined) return most === undefined ? "anything" : `at most ${digits(most)}`;
  if (most === undefined) return `at least ${digits(least)}`;
  return least === most ? digits(least) : `${digits(least)} to ${digits(most)}`;
}

/** Reads as `P99 / ideal is 1.31, expected at most 1.05`. */
export function failure(of: Gate): string {
  return `${of.name} is ${digits(of.value)}, expected ${expectation(of)}`;
}

const ZERO: Limits = { least: 0, most: 0 };

export interface Evidence {
  /** Answers that were no 2xx or not the page's. */
  readonly wrong: number;
  /** Requests sent in the whole run. */
  readonly sent: number;
  /** Admissions that the server counted for them; unknown of servers that do not count. */
  readonly admitted?: number;
  /** Answers that name a PHP process which is not this arm's. */
  readonly strangers: number;
}

/** Fails the run: figures of a window in which one of these does not hold are about something else. */
export function harnessGates(figures: Figures, evidence: Evidence): Gate[] {
  return [
    gate("wrong answers", evidence.wrong, ZERO),
    gate("answers of strange processes", evidence.strangers, ZERO),
    ...(evidence.admitted === undefined ? [] : [
      gate("admissions counted by the server / requests", evidence.admitted / evidence.sent, { least: 1, most: 1 }),
    ]),
    gate("accounted time / (clients x window)", figures.accounted, { least: 0.99, most: 1.01 }),
  ];
}

/** Measured over ideal at most; absent where it is not the queue alone that makes the tail. */
export interface TailLimits {
  readonly p99?: number;
  readonly p999?: number;
}

/** @param overtakes as the server counted them; unknown of servers that do not count */
export function fairnessGates(figures: Figures, limits: TailLimits, overtakes: number | undefined): Gate[] {
  const { measured, ideal } = figures;
  return [
    gate("mean / (N/X)", figures.mean, { least: 0.99, most: 1.01 }),
    gate("P50 / ideal", measured.p50 / ideal.p50, { least: 0.95, most: 1.05 }),
    ...(limits.p99 === undefined ? [] : [gate("P99 / ideal", measured.p99 / ideal.p99, { most: limits.p99 })]),
    ...(limits.p999 === undefined ? [] : [gate("P99.9 / ideal", measured.p999 / ideal.p999, { most: limits.p999 })]),
    gate("waits under half a service", figures.laps.early, ZERO),
    gate("requests passed over", figures.passed, { most: 0.05 }),
    ...(overtakes === undefined ? [] : [gate("overtakes", overtakes, ZERO)]),
  ];
}
