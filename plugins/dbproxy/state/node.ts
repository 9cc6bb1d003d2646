import type { Settings } from "./settings.ts";
import type { Transition } from "./graph.ts";

/** One text on the way to a node. */
export interface PathStep {
  readonly text: string;
  /** The values it gave, as the server reported them. */
  readonly changes: ReadonlyMap<string, string>;
  /** Where the server was seen to run it. */
  readonly from: SettingsNode;
  /** Read the same way by every session: its effect does not depend on where it is run. */
  readonly plain: boolean;
}

/** What SET NAMES and the handshake's charset both set. */
export const charsetVariables: readonly string[] = [
  "character_set_client",
  "character_set_connection",
  "character_set_results",
  "collation_connection",
];

/** A reply that only told settings, good until a moment of the graph's clock. */
export interface Reading {
  readonly reply: Uint8Array;
  readonly until: number;
}

/** A node of a `SettingsGraph`. */
export class SettingsNode implements Settings {
  readonly charset: number;
  readonly values: ReadonlyMap<string, string>;
  readonly root: SettingsNode;
  /** Shared by all that were learned between two calls of `forget`. */
  readonly era: object;
  readonly edges: Map<string, Transition> = new Map();
  /** Null for a text that was answered in two ways. */
  readonly readings: Map<string, Reading | null> = new Map();
  #steps: readonly PathStep[];
  #path: readonly string[] | undefined;
  #effective: ReadonlyMap<string, string> | undefined;

  constructor(
    charset: number,
    era: object,
    root?: SettingsNode,
    values: ReadonlyMap<string, string> = new Map(),
    steps: readonly PathStep[] = [],
  ) {
    this.charset = charset;
    this.era = era;
    this.root = root ?? this;
    this.values = values;
    this.#steps = steps;
  }

  get steps(): readonly PathStep[] {
    return this.#steps;
  }

  get path(): readonly string[] {
    return this.#path ??= this.#steps.map((step) => step.text);
  }

  /** `values` on top of what the handshake's charset sets, as `#` and its collation id: the whole state but the server's defaults. */
  get effective(): ReadonlyMap<string, string> {
    return this.#effective ??= new Map([...ofHandshake(this.charset), ...this.values]);
  }

  /** A way that leads here as well; kept when it is shorter. */
  offer(steps: readonly PathStep[]): void {
    if (steps.length >= this.#steps.length) return;
    this.#steps = steps;
    this.#path = undefined;
  }
}

export function ofHandshake(charset: number): Map<string, string> {
  return new Map(charsetVariables.map((name) => [name, `#${charset}`]));
}

/**
 * A path without the texts that later ones make pointless: everything such a text set is set again, and whatever comes after
 * it is read the same way without it.
 */
export function shortened(steps: readonly PathStep[]): readonly PathStep[] {
  const kept: PathStep[] = [];
  const again = new Set<string>();
  let plainSoFar = true;
  for (const step of steps.toReversed()) {
    const pointless = plainSoFar && [...step.changes.keys()].every((name) => again.has(name));
    if (pointless) continue;
    kept.push(step);
    plainSoFar &&= step.plain;
    for (const name of step.changes.keys()) again.add(name);
  }
  return kept.reverse();
}

/**
 * Whether a text of SETs to literals means the same under every sql_mode and charset: ASCII without the characters whose
 * meaning ANSI_QUOTES and NO_BACKSLASH_ESCAPES change.
 */
export function isPlain(text: string): boolean {
  return /^[\t\n\r !#-[\]-~]*$/.test(text);
}
