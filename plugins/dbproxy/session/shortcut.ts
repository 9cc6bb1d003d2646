import { CAP } from "../wire/capabilities.ts";
import { COM } from "../wire/commands.ts";
import { plainEof, plainOk } from "./answers.ts";
import type { SessionHost } from "./host.ts";
import type { Query } from "./query.ts";
import type { Track } from "./track.ts";

/** A session that holds no backend, as far as answering for the server goes. */
export interface Unbound {
  readonly capabilities: number;
  readonly track: Track;
}

/** The client hears of changes in its session: only the server itself can tell them. */
const hears = (capabilities: number): boolean => (capabilities & CAP.SESSION_TRACK) !== 0;

/**
 * The answer to a command that is no query, where the server need not be asked; undefined where it must. The session's state
 * is moved on as the server would have.
 */
export function commandShortcut(
  command: number,
  frames: Uint8Array,
  { capabilities, track }: Unbound,
  host: SessionHost,
): Uint8Array | undefined {
  if (command === COM.SET_OPTION) {
    const option = frames[5];
    if (frames.byteLength !== 7 || option === undefined || option > 1 || frames[6] !== 0) return undefined;
    track.multiStatements = option === 0;
    return plainEof(track.status, capabilities);
  }
  if (hears(capabilities)) return undefined;
  if (command === COM.PING) {
    host.answered("ping");
    return plainOk(track.status, capabilities);
  }
  return command === COM.INIT_DB
    ? chosen(new TextDecoder().decode(frames.subarray(5)), capabilities, track, host)
    : undefined;
}

/** The answer to a query, where what it does or reads is known; as {@linkcode commandShortcut}. */
export function queryShortcut(
  { statement, text }: Query,
  { capabilities, track }: Unbound,
  host: SessionHost,
): Uint8Array | undefined {
  if (hears(capabilities)) return undefined;
  if (statement.kind === "use" && statement.schema !== undefined) {
    return chosen(statement.schema, capabilities, track, host);
  }
  const { graph } = host;
  if (graph === undefined || text === undefined) return undefined;
  if (statement.kind === "set") {
    // It is about time that passes without a command, which the server alone can keep.
    if (statement.assignments.some(({ name }) => name === "wait_timeout")) return undefined;
    const known = graph.follow(track.settings, text);
    if (known === undefined) return undefined;
    track.adopt(known, text);
    host.answered("set");
    return plainOk(known.status, capabilities, known.warnings);
  }
  if (readingOf(statement, track, host) === undefined) return undefined;
  const reply = graph.reading(track.settings, readingKey(text, capabilities));
  if (reply === undefined) return undefined;
  track.warned = undefined;
  host.answered("read");
  return reply;
}

/** The variables that a statement reads and nothing else, where the server reports each change of them; undefined else. */
export function readingOf(
  statement: Query["statement"],
  track: Track,
  host: SessionHost,
): readonly string[] | undefined {
  const names = statement.readsVariables;
  if (names === undefined || track.dirty !== undefined) return undefined;
  // Others change behind the session's back (read_only, for one).
  return names.every((name) => host.facts.reported.has(name)) ? names : undefined;
}

/** What the reply to a text is kept under: it has two encodings. */
export function readingKey(text: string, capabilities: number): string {
  return `${(capabilities & CAP.DEPRECATE_EOF) === 0 ? "c" : "d"}${text}`;
}

/** A default schema that is known to be there. */
function chosen(schema: string, capabilities: number, track: Track, host: SessionHost): Uint8Array | undefined {
  if (!host.schemas.known(schema)) return undefined;
  track.schema = schema;
  track.warned = undefined;
  host.answered("use");
  return plainOk(track.status, capabilities);
}
