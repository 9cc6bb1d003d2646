import type { ServerFacts } from "../backend/facts.ts";
import type { Residue, SqlMode, Statement } from "../sql/statement.ts";
import type { SettingsGraph, Transition } from "../state/graph.ts";
import type { Settings } from "../state/settings.ts";
import type { OkPacket, Trackers } from "../wire/packets.ts";
import { STATUS } from "../wire/status.ts";
import { decodeTrackers } from "../wire/trackers.ts";

/** Charsets whose second bytes can look like a quote or a backslash: texts in them are not read. */
const unsafeCharsets: ReadonlySet<string> = new Set(["big5", "cp932", "gb18030", "gbk", "sjis"]);

/** Whether a session may have another role than it began with. No reset takes a role back. */
export type RoleRisk = "no" | "maybe" | "yes";

/** What may have switched the role without a trace: MySQL tells of no switch, and no server of one in a routine. */
const roleRisks: Readonly<Partial<Record<Residue, RoleRisk>>> = {
  role: "yes",
  call: "maybe",
  prepare: "maybe",
  function: "maybe",
  opaque: "maybe",
};

/** What the proxy knows of one session's state, from what the server has said about it. */
export class Track {
  /** The last settings that are known exactly. */
  settings: Settings;
  schema: string | undefined;
  multiStatements: boolean;
  /** Status flags of the last OK. */
  status: number;
  /** The last text, when the proxy has answered it with warnings: whoever wants to read them needs it run again. */
  warned: string | undefined;
  /** Why the session may have left something behind that only a reset removes; undefined while it is proven to be clean. */
  dirty: Residue | undefined;
  /** By anything it has done, whatever made it dirty first. */
  role: RoleRisk = "no";
  /** Its default schema was dropped under it: which it has now is not known. */
  schemaLost = false;
  readonly #facts: ServerFacts;
  #sqlMode: string;
  #charset: string;
  #mode: SqlMode | undefined;

  constructor(facts: ServerFacts, settings: Settings, schema: string | undefined, multiStatements: boolean) {
    this.#facts = facts;
    this.settings = settings;
    this.schema = schema;
    this.multiStatements = multiStatements;
    this.status = facts.greeting.status & ~STATUS.SESSION_STATE_CHANGED;
    this.#sqlMode = facts.sqlMode;
    this.#charset = facts.collations.get(settings.charset)?.charset ?? facts.charset;
  }

  /** How the server reads this session's next text. */
  get mode(): SqlMode {
    return this.#mode ??= {
      ansiQuotes: /ANSI_QUOTES|\bANSI\b/.test(this.#sqlMode),
      noBackslashEscapes: (this.status & STATUS.NO_BACKSLASH_ESCAPES) !== 0 ||
        this.#sqlMode.includes("NO_BACKSLASH_ESCAPES"),
      ignoreSpace: this.#sqlMode.includes("IGNORE_SPACE") || this.#sqlMode.includes("ANSI"),
      server: this.#facts.server,
      version: this.#facts.version,
      unsafeCharset: unsafeCharsets.has(this.#charset),
    };
  }

  /** Takes over settings that the proxy has answered by itself. */
  adopt({ to: settings, status, warnings }: Transition, text: string): void {
    this.settings = settings;
    this.status = status;
    this.warned = warnings === 0 ? undefined : text;
    const mode = settings.values.get("sql_mode"), charset = settings.values.get("character_set_client");
    if (mode !== undefined) this.#sqlMode = mode;
    if (charset !== undefined) this.#charset = charset;
    this.#mode = undefined;
  }

  soil(residue: Residue): void {
    this.dirty ??= residue;
    if (this.role !== "yes") this.role = roleRisks[residue] ?? this.role;
  }

  /** An OK, or the end of a result set, came for `statement` (undefined for what is no text of SQL). */
  ok(ok: OkPacket, statement: Statement | undefined, text: string | undefined, graph: SettingsGraph | undefined): void {
    if ((ok.status ^ this.status) & STATUS.NO_BACKSLASH_ESCAPES) this.#mode = undefined;
    this.status = ok.status & ~(STATUS.SESSION_STATE_CHANGED | STATUS.MORE_RESULTS);
    if ((ok.status & STATUS.IN_TRANS) !== 0) this.soil("transaction");
    // The residue is that of one of them.
    if (statement?.kind === "several" && this.role === "no") this.role = "maybe";
    if (ok.trackers === undefined) return;
    const trackers = decodeTrackers(ok.trackers);
    this.#note(trackers);
    if (statement?.kind === "set" && text !== undefined && this.dirty === undefined && graph !== undefined) {
      const reached = graph.learn(this.settings, text, statement.assignments, ok, trackers);
      if (reached === undefined) this.soil("set");
      else this.settings = reached;
    } else if (touched(trackers)) this.soil(statement?.residue ?? "opaque");
  }

  #note(trackers: Trackers): void {
    if (trackers.schema !== undefined) {
      this.schemaLost = trackers.schema === "";
      if (!this.schemaLost) this.schema = trackers.schema;
    }
    for (const [name, value] of trackers.variables) {
      if (name === "sql_mode") this.#sqlMode = value;
      else if (name === "character_set_client") this.#charset = value;
      else continue;
      this.#mode = undefined;
    }
  }
}

/** The transaction tracker between transactions. */
const noTransaction = "________";

/** Whether more than the default schema changed. A schema tracker alone comes with the state-change bit. */
function touched(trackers: Trackers): boolean {
  const { transaction } = trackers;
  if (trackers.variables.length > 0 || (transaction !== undefined && transaction !== noTransaction)) return true;
  return trackers.stateChanged && trackers.schema === undefined;
}
