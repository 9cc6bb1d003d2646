import type { BackendState, WantedState } from "./backend_state.ts";

/** One step of making a backend's session what is wanted. All of a plan may be pipelined. */
export type Step =
  /** COM_RESET_CONNECTION. */
  | { readonly kind: "reset" }
  /** SET NAMES for the collation id of the handshake. */
  | { readonly kind: "names"; readonly charset: number }
  /** The SET of the session trackers. */
  | { readonly kind: "trackers" }
  | { readonly kind: "query"; readonly text: string }
  | { readonly kind: "schema"; readonly name: string }
  | { readonly kind: "multi"; readonly on: boolean };

/** Whether a backend can be made what is wanted at all: one that has a default schema can never be without. */
export function reachable(have: BackendState, want: WantedState): boolean {
  return want.schema !== undefined || have.schema === undefined;
}

/** The steps that make `have` what is wanted; none when it is. Throws `DB_STATE_SCHEMA` where it is not {@linkcode reachable}. */
export function plan(_have: BackendState, _want: WantedState): readonly Step[] {
  throw new Error("Not yet");
}

/** How far a backend is from what is wanted, for choosing among idle ones: 0 fits as it is, `Infinity` never does. */
export function distance(_have: BackendState, _want: WantedState): number {
  throw new Error("Not yet");
}
