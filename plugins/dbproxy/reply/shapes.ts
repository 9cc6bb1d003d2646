/**
 * Which packets make up the reply to which command.
 *
 * @module
 */
import { COM } from "../wire/commands.ts";

/** What the next packet of a reply is. */
export const STATE = {
  /** No reply is awaited. */
  IDLE: 0,
  /** The first packet of a result: OK, ERR, a request for a file, or a count of columns. */
  FIRST: 1,
  /** OK, ERR, or an end marker in their place. */
  SIMPLE: 2,
  /** Bare text, or ERR. */
  TEXT: 3,
  /** The answer to a prepare. */
  PREPARED: 4,
  /** A definition of a known number: of a result's columns, a statement's parameters, a statement's columns. */
  FIELDS: 5,
  PARAMETERS: 6,
  COLUMNS: 7,
  /** A row, the end, or ERR. */
  ROWS: 8,
  /** A definition with its default, the end, or ERR. */
  FIELD_LIST: 9,
  /** Nothing: the client is sending a file. */
  INFILE: 10,
  /** Nothing any more. */
  DEAD: 11,
} as const;

export type State = (typeof STATE)[keyof typeof STATE];

/** MariaDB's bulk execute. */
const STMT_BULK_EXECUTE = 0xfa;

/** What the reply to a command begins with; IDLE when it has none. */
export function firstState(command: number): State {
  switch (command) {
    case COM.QUERY:
    case COM.STMT_EXECUTE:
    case COM.PROCESS_INFO:
    case STMT_BULK_EXECUTE:
      return STATE.FIRST;
    case COM.STMT_PREPARE:
      return STATE.PREPARED;
    case COM.STMT_FETCH:
      return STATE.ROWS;
    case COM.FIELD_LIST:
      return STATE.FIELD_LIST;
    case COM.STATISTICS:
      return STATE.TEXT;
    case COM.QUIT:
    case COM.STMT_CLOSE:
    case COM.STMT_SEND_LONG_DATA:
      return STATE.IDLE;
    default:
      return STATE.SIMPLE;
  }
}

/** Whether a reply to this command may be several results. */
export function chains(command: number): boolean {
  return firstState(command) === STATE.FIRST;
}

/** Whether a state is a run of a known number of packets. */
export function isCounted(state: State): boolean {
  return state >= STATE.FIELDS && state <= STATE.COLUMNS;
}

/** Bytes of a frame's header. */
export const HEADER = 4;

/** The length of a frame that the next one continues. */
export const SPLIT = 0xffffff;

/** What is done with a packet: passed on unread; read as a whole; or given up with the whole stream. */
export const PACKET = { PASSES: 0, CONTROL: 1, NONSENSE: 2 } as const;

export type Packet = (typeof PACKET)[keyof typeof PACKET];

const when = (sensible: boolean): Packet => sensible ? PACKET.CONTROL : PACKET.NONSENSE;

/** What kind of packet begins with this byte, in a first frame of this length. */
export function kindOf(state: State, first: number, length: number): Packet {
  if (length === 0) return PACKET.NONSENSE;
  if (first === 0xff) return when(length >= 3 && length < SPLIT);
  if (isCounted(state)) return first < 0xfe ? PACKET.PASSES : PACKET.NONSENSE;
  switch (state) {
    case STATE.ROWS:
    case STATE.FIELD_LIST:
      // A first column of 16 MiB and more begins with fe, too, but never ends in its first frame.
      return first < 0xfe || length === SPLIT ? PACKET.PASSES : when(length >= 7);
    case STATE.FIRST:
      if (first === 0xfb) return when(length < SPLIT);
      if (first !== 0 && first !== 0xfe) return when(length === (first < 0xfb ? 1 : first - 0xfc + 3));
      return when(length >= 7 && length < SPLIT);
    case STATE.SIMPLE:
      return when((first === 0 || first === 0xfe) && length >= 7 && length < SPLIT);
    case STATE.PREPARED:
      return when(first === 0 && length >= 9 && length < SPLIT);
    case STATE.TEXT:
      return when(length < SPLIT);
    default:
      return PACKET.NONSENSE;
  }
}
