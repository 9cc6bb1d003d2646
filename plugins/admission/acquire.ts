import { CoreError } from "../../core/error.ts";
import type { Criticality, Gate, Refusal, Waiter } from "../../core/contracts/gates.ts";
import type { Permit } from "../../core/plugin.ts";

/** How to wait at a gate. */
export interface AcquireOptions {
  /** Permits wanted; 1 when absent. */
  readonly weight?: number;
  /** `critical` when absent. */
  readonly criticality?: Criticality;
  /** Whose share of its class this takes. */
  readonly key?: string;
  /** Latest moment to be granted, in ms on the gate's clock (`performance.now`). */
  readonly deadline?: number;
  /** Ends the wait. Once the permit is given, it has no effect. */
  readonly signal?: AbortSignal;
}

/** Leave to run, taken from a gate. Releasing it twice gives it back once. */
export class GatePermit implements Permit, Disposable {
  readonly weight: number;
  #gate: Gate | undefined;
  readonly #holder: Waiter | undefined;

  /** `holder`: the waiter that was let in, if there was one. */
  constructor(gate: Gate, weight: number, holder?: Waiter) {
    this.#gate = gate;
    this.weight = weight;
    this.#holder = holder;
  }

  release(): void {
    const gate = this.#gate;
    this.#gate = undefined;
    gate?.leave(this.#holder ?? this.weight);
  }

  [Symbol.dispose](): void {
    this.release();
  }
}

/** What a refusal is as an error: its code, its HTTP status and what happened. */
const refusals: Readonly<Record<Refusal, readonly [code: string, status: number, what: string]>> = {
  full: ["ADMISSION_FULL", 503, "the line is full"],
  grace: ["ADMISSION_GRACE", 503, "no permit came free within the grace window"],
  deadline: ["ADMISSION_DEADLINE", 504, "the deadline passed in line"],
  draining: ["ADMISSION_DRAINING", 503, "the gate is draining"],
  cancelled: ["ADMISSION_CANCELLED", 499, "the wait was cancelled"],
  predicted: ["ADMISSION_PREDICTED", 503, "it would wait in vain"],
  class: ["ADMISSION_CLASS", 503, "its class is turned away while the gate is overloaded"],
  evicted: ["ADMISSION_EVICTED", 503, "a more critical waiter took its place in the full line"],
  key: ["ADMISSION_KEY", 429, "its key has its share already"],
  codel: ["ADMISSION_CODEL", 503, "the line has stood for too long"],
};

/**
 * Waits at `gate` for a permit. Rejects with a `CoreError` whose code names the refusal (`ADMISSION_FULL`,
 * `ADMISSION_GRACE`, `ADMISSION_DEADLINE`, `ADMISSION_DRAINING`, `ADMISSION_CANCELLED` with the signal's reason as its
 * cause) and whose status suits an HTTP answer.
 *
 * @example
 * ```ts
 * using permit = await acquire(gate, { signal: request.signal, deadline: performance.now() + 2_000 });
 * ```
 */
export function acquire(gate: Gate, options: AcquireOptions = {}): Promise<GatePermit> {
  const { weight = 1, deadline, criticality, key, signal } = options;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(refused(gate, "cancelled", signal.reason));
    const onAbort = () => {
      if (gate.cancel(waiter)) reject(refused(gate, "cancelled", signal?.reason));
    };
    const waiter: Waiter = {
      weight,
      ...(deadline === undefined ? undefined : { deadline }),
      ...(criticality === undefined ? undefined : { criticality }),
      ...(key === undefined ? undefined : { key }),
      onGrant() {
        signal?.removeEventListener("abort", onAbort);
        resolve(new GatePermit(gate, weight, waiter));
      },
      onRefuse(reason: Refusal) {
        signal?.removeEventListener("abort", onAbort);
        reject(refused(gate, reason));
      },
    };
    const verdict = gate.enter(waiter);
    if (verdict === "granted") resolve(new GatePermit(gate, weight, waiter));
    else if (verdict === "queued") signal?.addEventListener("abort", onAbort, { once: true });
    else reject(refused(gate, verdict));
  });
}

function refused(gate: Gate, reason: Refusal, cause?: unknown): CoreError {
  const [code, status, what] = refusals[reason];
  return new CoreError(code, `Cannot enter gate ${gate.name}: ${what}`, { status, cause });
}
