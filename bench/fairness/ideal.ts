/**
 * What a perfectly fair queue would have given the same clients with the same services.
 *
 * @module
 */
import { seeded } from "../../tests/support/seeded.ts";
import { type Quantiles, quantiles } from "../support/statistics.ts";

/** Standard normal quantiles of the levels that are reported. */
const Z: Quantiles = { p50: 0, p90: 1.2816, p99: 2.3263, p999: 3.0902 };

export interface Load {
  readonly clients: number;
  readonly slots: number;
  /** Answers a unit of time. */
  readonly throughput: number;
}

/**
 * P_q = (N + z_q C sqrt(N - c + c^2)) / X: from Var R = (N-c) C^2 (s/c)^2 + C^2 s^2 with s = c / X. Good to 2 % where
 * N / c is 20 and more; too low where it is less than 8, since the service's own tail then weighs.
 *
 * @param variation C of the services
 */
export function normalIdeal({ clients, slots, throughput }: Load, variation: number): Quantiles {
  const spread = variation * Math.sqrt(clients - slots + slots * slots);
  const at = (z: number) => (clients + z * spread) / throughput;
  return { p50: at(Z.p50), p90: at(Z.p90), p99: at(Z.p99), p999: at(Z.p999) };
}

export interface Ideal {
  /** Ascending. */
  readonly sojourns: Float64Array;
  readonly waits: Float64Array;
  readonly quantiles: Quantiles;
}

/**
 * The closed first-come-first-served queue itself, run on services drawn from those that were measured: right for every
 * law of service and every N / c. A client that comes back at the m-th departure is started by departure m + (N - c).
 *
 * The draws are independent: that the machine was slow for a while, for all slots at once, is not forgiven.
 *
 * @param services how long a slot was taken for each request, from its start to the start of the next one there
 */
export function bootstrapIdeal(
  services: ArrayLike<number>,
  { clients, slots }: Pick<Load, "clients" | "slots">,
  { requests = 1_000_000, seed = 1 }: { readonly requests?: number; readonly seed?: number } = {},
): Ideal {
  if (services.length === 0) throw new Error("Cannot compute the ideal: no service was measured");
  const draw = seeded(seed);
  const service = () => services[Math.floor(draw() * services.length)]!;
  const queued = clients - slots;
  /** When the clients in line came back, oldest at `m % queued`. */
  const came = new Float64Array(Math.max(1, queued));
  const ends = Float64Array.from({ length: slots }, service);
  const warm = 3 * clients;
  const sojourns = new Float64Array(requests), waits = new Float64Array(requests);
  for (let m = 0; m < warm + requests; m++) {
    let slot = 0;
    for (let i = 1; i < slots; i++) if (ends[i]! < ends[slot]!) slot = i;
    const now = ends[slot]!;
    const since = queued === 0 ? now : came[m % queued]!;
    if (queued > 0) came[m % queued] = now;
    const served = service();
    ends[slot] = now + served;
    if (m < warm) continue;
    waits[m - warm] = now - since;
    sojourns[m - warm] = now - since + served;
  }
  sojourns.sort();
  waits.sort();
  return { sojourns, waits, quantiles: quantiles(sojourns) };
}
