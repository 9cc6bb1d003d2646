/**
 * Fair admission as a library: nothing but web APIs, so it runs on Bun, Deno, Node, in browsers and on edge runtimes.
 *
 * @module
 */
export type { Criticality, Gate, Refusal, Waiter } from "../../core/contracts/gates.ts";
export { CoreError } from "../../core/error.ts";
export { acquire, type AcquireOptions, type GatePermit } from "./acquire.ts";
export type { AdmissionOptions, AdmissionRules, Refused } from "./admission_options.ts";
export { admit, type FetchHandler } from "./admit.ts";
export { ClassedGate } from "./classed_gate.ts";
export type { Clock } from "../../core/clock.ts";
export { createGate } from "./create_gate.ts";
export { fairAdmission } from "./fair_admission.ts";
export type { Counts as GateCounts } from "./counts.ts";
export { FairGate, type WaiterView } from "./fair_gate.ts";
export type { Fair, GateOptions, LineOptions, Order } from "./gate_options.ts";
export { WaiterBase } from "./queue_node.ts";
