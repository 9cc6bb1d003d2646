import type { Assignment } from "../../../plugins/dbproxy/sql/statement.ts";
import type { Step } from "../../../plugins/dbproxy/state/plan.ts";
import type { OkPacket, Trackers } from "../../../plugins/dbproxy/wire/packets.ts";
import { STATUS } from "../../../plugins/dbproxy/wire/status.ts";

/** A SET text and what it is made of. `"` and `\` in a value are read as the session's sql_mode says. */
export interface SetText {
  readonly text: string;
  readonly assignments: readonly Assignment[];
}

export interface Report {
  readonly ok: OkPacket;
  readonly trackers: Trackers;
}

const collations: Record<string, string> = { utf8mb4: "utf8mb4_general_ci", latin1: "latin1_swedish_ci" };
const handshakes: Record<number, readonly [charset: string, collation: string]> = {
  8: ["latin1", "latin1_swedish_ci"],
  45: ["utf8mb4", "utf8mb4_general_ci"],
  46: ["utf8mb4", "utf8mb4_bin"],
};

/** A server's session as a map of variables: what a backend is in these tests. Silent about collations, as the servers are. */
export class ModelSession {
  readonly vars: Map<string, string> = new Map();
  schema: string | undefined;
  multi: boolean;
  tracked: boolean;
  /** What RESET takes back and no SET does: user variables, locks and the like. */
  residue: boolean = false;
  used: boolean = false;
  readonly #texts: ReadonlyMap<string, SetText>;

  constructor(texts: ReadonlyMap<string, SetText>, charset: number, schema?: string, multi = false) {
    this.#texts = texts;
    this.schema = schema;
    this.multi = multi;
    this.#reset();
    this.#names(charset);
    this.tracked = true;
  }

  query(text: string): Report {
    const parsed = this.#texts.get(text);
    if (parsed === undefined) throw new Error(`Expected a known text, not ${text}`);
    const reported: [string, string][] = [];
    const set = (name: string, value: string) => {
      this.vars.set(name, value);
      if (name !== "collation_connection") reported.push([name, value]);
    };
    for (const { name, value, collation } of parsed.assignments) {
      if (name === "names") {
        for (const part of ["client", "connection", "results"]) set(`character_set_${part}`, value.toLowerCase());
        set("collation_connection", collation ?? collations[value.toLowerCase()]!);
      } else {
        set(name, this.#literal(value));
        if (name === "character_set_connection") set("collation_connection", collations[value]!);
      }
    }
    return {
      ok: {
        affectedRows: 0,
        insertId: 0,
        status: STATUS.AUTOCOMMIT | STATUS.SESSION_STATE_CHANGED |
          (this.#noBackslash ? STATUS.NO_BACKSLASH_ESCAPES : 0),
        warnings: 0,
        info: "",
        trackers: new Uint8Array(),
      },
      trackers: report(reported),
    };
  }

  apply(step: Step): void {
    if (step.kind === "reset") this.#reset();
    else if (step.kind === "names") this.#names(step.charset);
    else if (step.kind === "trackers") this.tracked = true;
    else if (step.kind === "query") this.query(step.text);
    else if (step.kind === "schema") this.schema = step.name;
    else if (step.kind === "multi") this.multi = step.on;
  }

  /** Everything a client could see. */
  get seen(): unknown {
    const { schema, multi, tracked, residue } = this;
    return { vars: Object.fromEntries([...this.vars].sort()), schema, multi, tracked, residue };
  }

  get #noBackslash(): boolean {
    return this.vars.get("sql_mode")!.includes("NO_BACKSLASH_ESCAPES");
  }

  #literal(value: string): string {
    return this.#noBackslash ? value : value.replaceAll("\\", "");
  }

  #reset(): void {
    this.vars.clear();
    for (const name of ["time_zone", "wait_timeout", "lc_time_names"]) this.vars.set(name, "default");
    this.vars.set("sql_mode", "STRICT");
    this.#names(8);
    this.tracked = false;
    this.residue = false;
    this.used = false;
  }

  /** What MySQL leaves after a reset is the server's charset, and what the handshake asks for is set again by the proxy. */
  #names(charset: number): void {
    const [name, collation] = handshakes[charset]!;
    for (const part of ["client", "connection", "results"]) this.vars.set(`character_set_${part}`, name);
    this.vars.set("collation_connection", collation);
  }
}

export function report(variables: readonly (readonly [string, string])[], more: Partial<Trackers> = {}): Trackers {
  return {
    variables,
    schema: undefined,
    stateChanged: true,
    characteristics: undefined,
    transaction: undefined,
    gtids: undefined,
    ...more,
  };
}

const quoted = (value: string) => `'${value}'`;
const one = (name: string, value: string): SetText => ({
  text: `SET SESSION ${name} = ${quoted(value)}`,
  assignments: [{ name, value }],
});
const names = (value: string, collation?: string): SetText => ({
  text: `SET NAMES ${value}${collation === undefined ? "" : ` COLLATE ${collation}`}`,
  assignments: [{ name: "names", value, ...(collation === undefined ? {} : { collation }) }],
});
const both = (a: SetText, b: SetText): SetText => ({
  text: `${a.text}, ${b.text.slice(4)}`,
  assignments: [...a.assignments, ...b.assignments],
});

/** Texts that overlap in every way, some of them read differently under NO_BACKSLASH_ESCAPES. */
export const setTexts: readonly SetText[] = [
  names("utf8mb4"),
  names("UTF8MB4"),
  names("utf8mb4", "utf8mb4_bin"),
  names("latin1"),
  one("sql_mode", "ANSI"),
  one("sql_mode", "NO_BACKSLASH_ESCAPES"),
  one("sql_mode", "a\\b"),
  one("time_zone", "+00:00"),
  one("time_zone", "+01:00"),
  one("wait_timeout", "33"),
  one("lc_time_names", "de\\_DE"),
  one("lc_time_names", "plain"),
  one("character_set_results", "latin1"),
  one("character_set_connection", "latin1"),
  both(one("sql_mode", "ANSI"), one("time_zone", "+00:00")),
  both(one("sql_mode", "NO_BACKSLASH_ESCAPES"), one("lc_time_names", "x\\y")),
  both(names("latin1"), one("sql_mode", "ANSI")),
  both(one("time_zone", "+02:00"), one("wait_timeout", "44")),
];

export const textsByName: ReadonlyMap<string, SetText> = new Map(setTexts.map((set) => [set.text, set]));
