import type { SchemaIssue } from "../standard_schema.ts";
import type { Path } from "./path.ts";

/** One thing wrong with one key. */
export interface Problem {
  readonly path: Path;
  /** What was expected; undefined for an unknown key, whose cure depends on where it was written. */
  readonly expected: string | undefined;
  /** Whether the value shown should say its type: that is what was wrong. */
  readonly type: boolean;
}

/** An issue as zod makes it; other libraries give the message and the path only. */
interface Issue extends SchemaIssue {
  readonly code?: string;
  readonly expected?: string;
  readonly keys?: readonly string[];
  readonly values?: readonly unknown[];
  readonly options?: readonly unknown[];
  readonly errors?: readonly (readonly Issue[])[];
  /** What is wrong with a key. */
  readonly issues?: readonly Issue[];
}

const kinds: Record<string, string> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "an array",
  tuple: "an array",
  object: "a table",
  record: "a table",
};

const signs: Record<string, string> = { ">=": "at least", "<=": "at most", ">": "more than", "<": "less than" };

/** Says in this server's words what a schema library reports about the value at `base`. */
export function problemsOf(issue: Issue, base: Path): Problem[] {
  const path = issuePath(issue, base);
  if (issue.keys) return issue.keys.map((key) => ({ path: [...path, key], expected: undefined, type: false }));
  if (issue.errors?.length && issue.message === "Invalid input") {
    const fitting = issue.errors.filter((branch) => branch.every((inner) => inner.keys || inner.path?.length));
    const closest = fitting.sort((a, b) => a.length - b.length)[0];
    if (closest) return closest.flatMap((inner) => problemsOf(inner, path));
    const ways = new Set(issue.errors.flat().map((inner) => wording(inner).replace(/^expected /, "")));
    return [{ path, expected: `expected ${[...ways].join(" or ")}`, type: true }];
  }
  return [{ path, expected: wording(issue), type: issue.code === "invalid_type" }];
}

/** The whole path of the value an issue is about. */
export function issuePath(issue: SchemaIssue, base: Path): Path {
  return [...base, ...(issue.path ?? []).map((part) => typeof part === "object" ? part.key : part)] as Path;
}

function wording({ code, message, expected, values, options, issues }: Issue): string {
  if (code === "invalid_key" && issues?.[0] !== undefined) return wording(issues[0]);
  if (code === "invalid_type" && expected && message.startsWith("Invalid input: ")) {
    return `expected ${kinds[expected] ?? expected}`;
  }
  const choice = values ?? options;
  if (choice && message.startsWith("Invalid ")) {
    return `expected ${choice.length > 1 ? "one of " : ""}${choice.map((value) => JSON.stringify(value)).join(", ")}`;
  }
  const [, verb, sign = "", rest] = /^Too (?:small|big): expected \w+ to (be|have) ([<>]=?)(.*)$/.exec(message) ?? [];
  if (verb !== undefined) return `must ${verb} ${signs[sign]} ${rest}`;
  return message.replace(/^Invalid (?:input|string): /, "").replace(/^Invalid /, "invalid ");
}
