import { CoreError } from "../../../core/error.ts";
import type { BackendState, WantedState } from "./backend_state.ts";
import { ofHandshake, type PathStep, SettingsNode } from "./node.ts";
import type { Settings } from "./settings.ts";

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
  | { readonly kind: "multi"; readonly on: boolean }
  /** COM_STMT_RESET. */
  | { readonly kind: "statement"; readonly id: number };

/** For a {@linkcode BackendState.schema} whose properties may be others than when it was chosen: it must be chosen again. */
export const renewedSchema = "";
/** A schema that every server has, and everybody may choose. */
export const otherSchema = "information_schema";

const nothing: readonly Step[] = [];
const anew: readonly Step[] = [{ kind: "reset" }];
const trackers: Step = { kind: "trackers" };

/** Whether a backend can be made what is wanted at all: one that has a default schema can never be without. */
export function reachable(have: BackendState, want: WantedState): boolean {
  return want.schema !== undefined || have.schema === undefined;
}

/**
 * The fewest steps that make `have` what is wanted; none when it is. A reset comes first exactly where something of the
 * session is unknown, or differs in what no SET of the wanted path gives back. Throws `DB_STATE_SCHEMA` where the wanted
 * state is not {@linkcode reachable}.
 */
export function plan(have: BackendState, want: WantedState): readonly Step[] {
  if (!reachable(have, want)) {
    throw new CoreError("DB_STATE_SCHEMA", `Cannot take the default schema ${have.schema} from a backend; use another`);
  }
  const settings = needsReset(have, want) ? undefined : fromHere(have.settings, want.settings);
  const moved = have.schema !== want.schema && want.schema !== undefined;
  const switched = have.multiStatements !== want.multiStatements;
  if (settings !== undefined && !moved && !switched) return settings;
  const steps: Step[] = [...settings ?? fromNew(want.settings)];
  if (switched) steps.push({ kind: "multi", on: want.multiStatements });
  if (moved) {
    // MariaDB does not choose again what is chosen.
    if (have.schema === renewedSchema) steps.push({ kind: "schema", name: otherSchema });
    steps.push({ kind: "schema", name: want.schema });
  }
  return steps;
}

/** How far a backend is from what is wanted, for choosing among idle ones: 0 fits as it is, `Infinity` never does. */
export function distance(have: BackendState, want: WantedState): number {
  if (!reachable(have, want)) return Infinity;
  if (
    have.settings === want.settings && have.schema === want.schema && !needsReset(have, want) &&
    have.multiStatements === want.multiStatements
  ) return 0;
  return plan(have, want).length;
}

function needsReset(have: BackendState, want: WantedState): boolean {
  return have.dirty !== undefined || (want.fresh && have.used);
}

/** The way from a new session; all of the path, for each text was learned where the ones before it lead. */
function fromNew({ charset, path }: Settings): readonly Step[] {
  return [...anew, { kind: "names", charset }, trackers, ...path.map((text): Step => ({ kind: "query", text }))];
}

/** One step of the way from a new session, the handshake's charset included. */
interface Setting {
  readonly changes: ReadonlyMap<string, string>;
  /** Undefined for the handshake's charset. */
  readonly step: PathStep | undefined;
}

/** The steps from one node to another without a reset; undefined when there is no such way. */
function fromHere(have: Settings, want: Settings): readonly Step[] | undefined {
  if (have === want) return nothing;
  if (!(have instanceof SettingsNode && want instanceof SettingsNode) || have.era !== want.era) return undefined;
  const way: Setting[] = [
    { changes: ofHandshake(want.charset), step: undefined },
    ...want.steps.map((step) => ({ changes: step.changes, step })),
  ];
  const taken = way.map(() => false);
  // Each round takes one more of the way, the last that gives a variable the value it lacks; so it ends.
  for (let lack = lacking(have, want, way, taken); lack !== undefined; lack = lacking(have, want, way, taken)) {
    const last = way.findLastIndex(({ changes }, i) => i < lack.before && changes.has(lack.name));
    if (last < 0 || taken[last]) return undefined;
    taken[last] = true;
  }
  return way.filter((_, i) => taken[i]).map(({ step }): Step =>
    step === undefined ? { kind: "names", charset: want.charset } : { kind: "query", text: step.text }
  );
}

/** The variable that has not the right value where the index `before` of the way is reached. */
interface Lack {
  readonly name: string;
  readonly before: number;
}

/** What is wrong after the steps taken, or before one of them that must be read exactly where it was learned. */
function lacking(
  have: SettingsNode,
  want: SettingsNode,
  way: readonly Setting[],
  taken: readonly boolean[],
): Lack | undefined {
  const state = new Map(have.effective);
  for (const [before, { changes, step }] of way.entries()) {
    if (!taken[before]) continue;
    if (step !== undefined && !step.plain) {
      const name = difference(state, step.from.effective);
      if (name !== undefined) return { name, before };
    }
    for (const [name, value] of changes) state.set(name, value);
  }
  const name = difference(state, want.effective);
  return name === undefined ? undefined : { name, before: way.length };
}

/** A variable that is not the same in both. */
function difference(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): string | undefined {
  for (const [name, value] of a) if (b.get(name) !== value) return name;
  for (const name of b.keys()) if (!a.has(name)) return name;
  return undefined;
}
