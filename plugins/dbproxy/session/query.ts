import type { Analyser } from "../sql/analyser.ts";
import { headChangesCatalogue } from "../sql/head.ts";
import type { SqlMode, Statement } from "../sql/statement.ts";
import { CAP } from "../wire/capabilities.ts";
import { maxFrame } from "../wire/frame.ts";
import { behindAttributes } from "../wire/query_attributes.ts";

/** Longest text (bytes) that is read; a longer one is passed on as something that may have done anything. */
const longest = 65_536;

/** A COM_QUERY as the proxy sees it. */
export interface Query {
  /** The text as it came; the beginning of a long one. Undefined where it cannot be found behind query attributes. */
  readonly sql: Uint8Array | undefined;
  readonly statement: Statement;
  /** The text of a short statement of settings, as a key; undefined for others. */
  readonly text: string | undefined;
}

const unread: Statement = {
  kind: "other",
  residue: "opaque",
  readsPrevious: true,
  readsVariables: undefined,
  assignments: [],
  schema: undefined,
  kill: undefined,
  readsConnectionId: false,
  changesCatalogue: true,
  tables: [],
};

/** Longest text (bytes) whose effect or answer is learned. */
const longestKey = 1024;

const decoder = new TextDecoder();

/** Reads a COM_QUERY's frames. */
export function queryOf(
  frames: Uint8Array,
  whole: boolean,
  capabilities: number,
  analyser: Analyser,
  { mode, multiStatements }: { readonly mode: SqlMode; readonly multiStatements: boolean },
): Query {
  let at = 5;
  if ((capabilities & CAP.QUERY_ATTRIBUTES) !== 0) {
    // Without attributes: no parameters, one set of them.
    if (frames[5] !== 0 || frames[6] !== 1) return withAttributes(frames);
    at = 7;
  }
  const sql = frames.subarray(at);
  if (!whole || sql.byteLength > longest) {
    const changesCatalogue = headChangesCatalogue(sql, mode, multiStatements);
    return { sql, statement: { ...unread, changesCatalogue }, text: undefined };
  }
  const statement = analyser.analyse(sql, mode);
  const keyed = statement.kind === "set" || statement.readsVariables !== undefined;
  return { sql, statement, text: keyed ? asciiText(sql) : undefined };
}

/** Where the text begins is the server's to say: it is read for the statistics, and nothing is made of what it seems to do. */
function withAttributes(frames: Uint8Array): Query {
  const single = frames.byteLength < maxFrame;
  return { sql: single ? behindAttributes(frames.subarray(5)) : undefined, statement: unread, text: undefined };
}

/** A short text as a string; undefined when it is long, or means something else in another charset. */
function asciiText(sql: Uint8Array): string | undefined {
  if (sql.byteLength > longestKey) return undefined;
  for (let i = 0; i < sql.byteLength; i++) if (sql[i]! > 0x7f) return undefined;
  return decoder.decode(sql);
}
