import type { Step } from "../state/plan.ts";
import { COM } from "../wire/commands.ts";
import type { ServerFacts } from "./facts.ts";

const encoder = new TextEncoder();

/** The command that takes one step of bringing a backend where a session needs it. */
export function encodeStep(
  step: Step,
  facts: ServerFacts,
  attributes: boolean,
): { readonly command: number; readonly payload: Uint8Array } {
  switch (step.kind) {
    case "reset":
      return { command: COM.RESET_CONNECTION, payload: Uint8Array.of(COM.RESET_CONNECTION) };
    case "names":
      return query(`SET ${namesOf(step.charset, facts)}`, attributes);
    case "trackers":
      return query(`SET ${facts.trackers}`, attributes);
    case "query":
      return query(step.text, attributes);
    case "schema":
      return { command: COM.INIT_DB, payload: encoder.encode(`\x02${step.name}`) };
    case "multi":
      return { command: COM.SET_OPTION, payload: Uint8Array.of(COM.SET_OPTION, step.on ? 0 : 1, 0) };
  }
}

/**
 * What the charset byte of a handshake does, as the text of a SET. A reset sets the server's own charset on MySQL, whatever
 * the handshake said.
 */
function namesOf(charset: number, facts: ServerFacts): string {
  const collation = facts.collations.get(charset);
  // An id the server does not know: it takes its default, as in a handshake.
  return collation === undefined ? "NAMES DEFAULT" : `NAMES ${collation.charset} COLLATE ${collation.name}`;
}

function query(text: string, attributes: boolean): { readonly command: number; readonly payload: Uint8Array } {
  return { command: COM.QUERY, payload: queryPayload(text, attributes) };
}

/** A COM_QUERY. Where query attributes were negotiated it says that there are none. */
export function queryPayload(text: string, attributes: boolean): Uint8Array {
  return encoder.encode(`\x03${attributes ? "\0\x01" : ""}${text}`);
}
