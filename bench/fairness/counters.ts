/**
 * What the server under test counts itself.
 *
 * @module
 */
import type { Running } from "../http/arms/arm.ts";

export interface Counters {
  /** Requests let in, at once or after a wait. */
  readonly admitted: number;
  readonly overtakes: number;
}

/** The sum of a family's samples whose labels hold `pattern`, in Prometheus' text format. */
export function sum(exposition: string, family: string, pattern: RegExp = /(?:)/): number {
  let all = 0;
  for (const line of exposition.split("\n")) {
    if (!line.startsWith(family)) continue;
    const match = /^[\w:]+(\{.*\})? (\S+)/.exec(line);
    if (match !== null && match[0].startsWith(`${family}${match[1] ?? ""} `) && pattern.test(match[1] ?? "")) {
      all += Number(match[2]);
    }
  }
  return all;
}

/** Nothing of a server without an admin side. */
export async function counters({ adminPort }: Running): Promise<Counters | undefined> {
  if (adminPort === undefined) return undefined;
  const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  return {
    admitted: sum(text, "fairlead_admission_total", /outcome="(immediate|queued)"/),
    overtakes: sum(text, "fairlead_admission_overtakes_total"),
  };
}
