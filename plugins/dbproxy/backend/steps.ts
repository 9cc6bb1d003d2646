import type { Step } from "../state/plan.ts";
import { COM } from "../wire/commands.ts";
import type { ServerFacts } from "./facts.ts";

const encoder = new TextEncoder();

/** Leaves that no rows were found. */
export const forgetFound = "SELECT 1 FROM DUAL WHERE FALSE";

/** What a new session needs before a client may have it. */
export function beginning(charset: number): readonly Step[] {
  return [{ kind: "names", charset }, { kind: "trackers" }];
}

/** One command of the proxy's own. */
export interface OwnCommand {
  readonly step: Step["kind"];
  readonly command: number;
  readonly payload: Uint8Array;
}

/** The commands that take the steps of bringing a backend where a session needs it. */
export function encodeSteps(steps: readonly Step[], facts: ServerFacts, attributes: boolean): readonly OwnCommand[] {
  const out: OwnCommand[] = [];
  const query = (step: Step["kind"], text: string) =>
    void out.push({ step, command: COM.QUERY, payload: queryPayload(text, attributes) });
  for (let i = 0; i < steps.length; i++) {
    const step = steps[i]!;
    switch (step.kind) {
      case "reset":
        out.push({ step: step.kind, command: COM.RESET_CONNECTION, payload: Uint8Array.of(COM.RESET_CONNECTION) });
        // MySQL's reset forgets everything but FOUND_ROWS(); a result without rows does that.
        if (facts.server === "mysql") query(step.kind, forgetFound);
        break;
      case "names": {
        const names = namesOf(step.charset, facts);
        // The two come together at every beginning: one statement does for both.
        if (steps[i + 1]?.kind !== "trackers") query(step.kind, `SET ${names}`);
        else query(steps[++i]!.kind, `SET ${names},${facts.trackers}`);
        break;
      }
      case "trackers":
        query(step.kind, `SET ${facts.trackers}`);
        break;
      case "query":
        query(step.kind, step.text);
        break;
      case "schema":
        out.push({ step: step.kind, command: COM.INIT_DB, payload: encoder.encode(`\x02${step.name}`) });
        break;
      case "multi":
        out.push({
          step: step.kind,
          command: COM.SET_OPTION,
          payload: Uint8Array.of(COM.SET_OPTION, step.on ? 0 : 1, 0),
        });
        break;
      case "statement": {
        const { id } = step;
        const payload = Uint8Array.of(COM.STMT_RESET, id, id >>> 8, id >>> 16, id >>> 24);
        out.push({ step: step.kind, command: COM.STMT_RESET, payload });
      }
    }
  }
  return out;
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

/** A COM_QUERY. Where query attributes were negotiated it says that there are none. */
export function queryPayload(text: string, attributes: boolean): Uint8Array {
  return encoder.encode(`\x03${attributes ? "\0\x01" : ""}${text}`);
}
