/**
 * What the command lines of the benchmarks have in common.
 *
 * @module
 */
import { fileURLToPath } from "node:url";

/** The repository that this benchmark is part of. */
const ROOT: string = fileURLToPath(new URL("../../", import.meta.url));

interface Text {
  readonly type: "string";
  readonly default: string;
}

/** For `parseArgs`: an option with a text, and its default. */
export function text(value: string): Text {
  return { type: "string", default: value };
}

/** For `parseArgs`: an option whose absence means something. */
export const OPTIONAL = { type: "string" } as const;

/** For `parseArgs`: an option without a value. */
export const FLAG = { type: "boolean", default: false } as const;

interface Common {
  readonly fairlead: Text;
  readonly json: typeof OPTIONAL;
  readonly keep: typeof FLAG;
  readonly help: typeof FLAG & { readonly short: "h" };
}

/** For `parseArgs`: the options of every benchmark that starts servers. */
export const COMMON: Common = { fairlead: text(ROOT), json: OPTIONAL, keep: FLAG, help: { ...FLAG, short: "h" } };

export interface NumberLimits {
  readonly least?: number;
  readonly whole?: boolean;
}

/** @throws Error that names the option and what it expects */
export function number(name: string, given: string, { least = 1, whole = true }: NumberLimits = {}): number {
  const value = Number(given);
  if (given.trim() !== "" && Number.isFinite(value) && value >= least && (!whole || Number.isInteger(value))) {
    return value;
  }
  throw new Error(`--${name} is "${given}", expected a ${whole ? "whole " : ""}number of at least ${least}`);
}

/** A list of numbers between commas; none of an empty text. */
export function numbers(name: string, given: string, limits?: NumberLimits): number[] {
  return given === "" ? [] : given.split(",").map((one) => number(name, one, limits));
}

type Named = string | { readonly name: string };
const nameOf = (one: Named) => typeof one === "string" ? one : one.name;

/**
 * Those of `known` that are named between commas, as they are named; none of an empty text.
 *
 * @throws Error that lists what is known
 */
export function pick<T extends Named>(kind: string, known: readonly T[], names: string): T[] {
  if (names === "") return [];
  return names.split(",").map((name) => {
    const found = known.find((one) => nameOf(one) === name.trim());
    if (found !== undefined) return found;
    throw new Error(`Unknown ${kind} "${name}", expected one of ${known.map(nameOf).join(", ")}`);
  });
}

/** The same where none would be nothing to measure. */
export function pickSome<T extends Named>(kind: string, known: readonly T[], names: string): T[] {
  const found = pick(kind, known, names);
  if (found.length > 0) return found;
  throw new Error(`--${kind}s is empty, expected some of ${known.map(nameOf).join(", ")}`);
}
