import { CoreError } from "../error.ts";
import { variableName } from "./environment.ts";
import { type JsonSchema, keysAt, knownPaths } from "./json_schema.ts";
import { nearest } from "./nearest.ts";
import { getIn, isTable, keyName } from "./path.ts";
import { maskMistake, type Places } from "./places.ts";
import type { Problem } from "./problems.ts";

/** The one error for everything that is wrong, in the order of the file, then of the environment. */
export function invalidConfig(
  file: string | undefined,
  problems: readonly Problem[],
  input: unknown,
  schema: JsonSchema,
  places: Places,
): CoreError {
  const rank = ({ path }: Problem) => places.override(path) ? Number.MAX_VALUE : places.line(path) ?? 0;
  const lines = problems.toSorted((a, b) => rank(a) - rank(b)).map((problem) => {
    const text = problem.expected === undefined
      ? unknownKey(problem, schema, places)
      : mismatch(problem, input, places);
    return "\n  " + [places.from(problem.path), keyName(problem.path), text].filter((part) => part).join(": ");
  });
  const count = lines.length === 1 ? "one problem" : `${lines.length} problems`;
  return new CoreError("CONFIG_INVALID", `${file ?? "The configuration"} has ${count}:${lines.join("")}`);
}

function unknownKey({ path }: Problem, schema: JsonSchema, places: Places): string {
  const word = String(path.at(-1));
  const keys = keysAt(schema, path.slice(0, -1)).filter((key) => key !== word);
  const key = nearest(word, keys);
  const set = places.override(path);
  const variable = set && !set.secret && set.path.length >= path.length;
  const near = variable ? nearestVariable(set.path, path.length - 1, key, schema) : key;
  if (near !== undefined) return `unknown key; did you mean "${near}"?`;
  if (keys.length > 12) keys.splice(12, keys.length, "…");
  return keys.length > 0 ? `unknown key; known here: ${keys.join(", ")}` : "unknown key";
}

/** The variable with the same letters and other underscores, or else the one for the key that was meant. */
function nearestVariable(path: readonly string[], at: number, key: string | undefined, schema: JsonSchema) {
  const plain = (path: readonly string[]) => variableName(path).replaceAll("_", "");
  const same = knownPaths(schema).find((known) => plain(known) === plain(path) && known.length !== path.length);
  const meant = same ?? (key === undefined ? undefined : path.with(at, key));
  return meant && variableName(meant);
}

function mismatch({ path, expected, type }: Problem, input: unknown, places: Places): string {
  const value = getIn(input, path);
  if (value === undefined) return `missing; ${expected}`;
  if (places.secret(path)) return expected!.replaceAll(String(value) || "***", "***");
  const hidden = typeof value === "object" && !type;
  const got = hidden ? "" : `, got ${show(maskMistake(value), type)}`;
  const json = typeof value === "string" && /^expected an? (array|table)$/.test(expected!) && places.override(path);
  return `${expected}${got}${json ? "; a variable holds it as JSON" : ""}`;
}

function show(value: unknown, withType: boolean): string {
  if (Array.isArray(value)) return "an array";
  if (isTable(value)) return "a table";
  if (typeof value !== "string") return String(value);
  const text = JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  return withType ? `the string ${text}` : text;
}
