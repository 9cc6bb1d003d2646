import { Reader } from "./bytes.ts";
import type { Trackers } from "./packets.ts";

/** The kinds of trackers, by their numbers on the wire. */
export const TRACKER = {
  SYSTEM_VARIABLES: 0,
  SCHEMA: 1,
  STATE_CHANGE: 2,
  GTIDS: 3,
  TRANSACTION_CHARACTERISTICS: 4,
  TRANSACTION_STATE: 5,
} as const;

export const emptyTrackers: Trackers = {
  variables: [],
  schema: undefined,
  stateChanged: false,
  characteristics: undefined,
  transaction: undefined,
  gtids: undefined,
};

/**
 * Reads a block of session trackers: `type:u8, lenenc length, data` each, of which types not known are passed over. A type
 * that comes twice counts as the later; variables are all kept, in their order.
 *
 * @throws CoreError `DB_PROTOCOL`
 */
export function decodeTrackers(block: Uint8Array): Trackers {
  if (block.length === 0) return emptyTrackers;
  const reader = new Reader(block);
  const variables: (readonly [string, string])[] = [];
  let schema: string | undefined, characteristics: string | undefined, transaction: string | undefined;
  let gtids: string | undefined;
  let stateChanged = false;
  while (reader.left > 0) {
    const type = reader.u8();
    const data = new Reader(reader.lenencBytes());
    if (type === TRACKER.SYSTEM_VARIABLES) {
      while (data.left > 0) variables.push([data.lenencText(), data.lenencText()]);
    } else if (type === TRACKER.SCHEMA) schema = data.lenencText();
    // MySQL has a string with its length here, MariaDB the bare digit.
    else if (type === TRACKER.STATE_CHANGE) stateChanged = data.rest().at(-1) === 0x31;
    else if (type === TRACKER.TRANSACTION_CHARACTERISTICS) characteristics = data.lenencText();
    else if (type === TRACKER.TRANSACTION_STATE) transaction = data.lenencText();
    else if (type === TRACKER.GTIDS) {
      data.u8();
      gtids = data.lenencText();
    }
  }
  return { variables, schema, stateChanged, characteristics, transaction, gtids };
}
