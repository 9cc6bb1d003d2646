/**
 * The course of one reply: which packet is due, what the client must be told in other words, and its sequence numbers.
 *
 * @module
 */
import { CoreError } from "../../../core/error.ts";
import { COM } from "../wire/commands.ts";
import type { OkPacket } from "../wire/packets.ts";
import { STATUS } from "../wire/status.ts";
import type { BeginOptions, ReplyClient, ReplyObserver } from "./observer.ts";
import { putEofPayload, readErr, readOk, trimOk } from "./ok_frame.ts";
import { chains, firstState, HEADER, STATE, type State } from "./shapes.ts";
import type { Staging } from "./staging.ts";

/** The code of MariaDB's progress reports, which look like errors. */
const PROGRESS = 0xffff;
/** What a session's status says of its next result, too. */
const LASTING = STATUS.IN_TRANS | STATUS.AUTOCOMMIT | STATUS.NO_BACKSLASH_ESCAPES | STATUS.IN_TRANS_READONLY |
  STATUS.ANSI_QUOTES;
/** What the end of a result set says, but not yet its beginning. */
const ENDING = STATUS.LAST_ROW_SENT | STATUS.SESSION_STATE_CHANGED;

/** Its numbers are read and written for every frame by the relay, which walks them. */
export class Course {
  state: State = STATE.IDLE;
  /** Why it is `DEAD`. */
  error: CoreError | undefined;
  rows = 0;
  /** The backend's next sequence number; -1 when any is right. */
  seq = 0;
  /** How far the client's are ahead. */
  shift = 0;
  /** Definitions still to come. */
  fields = 0;
  /** A classic client awaits an EOF before the next packet. */
  eofDue = false;
  /** The EOF put in before the rows, as long as it can be corrected; -1 else. */
  eof = -1;
  readonly #client: ReplyClient;
  readonly #observer: ReplyObserver;
  readonly #out: Staging;
  #command = 0;
  #allowInfile = false;
  /** Results that the text promises and that have not ended. */
  #results = 1;
  #status: number = STATUS.AUTOCOMMIT;
  /** Columns of the statement being prepared. */
  #columns = 0;

  constructor(client: ReplyClient, observer: ReplyObserver, out: Staging) {
    this.#client = client;
    this.#observer = observer;
    this.#out = out;
  }

  /** The client's next sequence number. */
  get nextSeq(): number {
    return (this.seq + this.shift) & 0xff;
  }

  /** As the relay's. */
  begin(command: number, options: BeginOptions): void {
    this.state = firstState(command);
    this.#command = command;
    this.#allowInfile = options.allowInfile ?? false;
    this.#results = options.results ?? 1;
    this.seq = options.seq ?? 1;
    this.rows = this.shift = 0;
    this.eofDue = false;
  }

  /** As the relay's. */
  infileSent(backendSeq: number): void {
    if (this.state !== STATE.INFILE) return;
    this.state = STATE.FIRST;
    if (this.#allowInfile) this.seq = backendSeq;
    else {
      // The request and the empty answer to it are two packets that the client knows nothing of.
      this.seq = (this.seq + 1) & 0xff;
      this.shift -= 2;
    }
  }

  /** A packet that says something of the reply's course; all of it is in `bytes`, in one frame. */
  control(bytes: Uint8Array, at: number, end: number): number {
    const first = bytes[at + 4]!;
    if (first === 0xff) return this.#err(bytes, at, end);
    const state = this.state;
    if (state === STATE.PREPARED) return this.#prepared(bytes, at, end);
    if (state === STATE.TEXT) this.state = STATE.IDLE;
    else if (first === 0 || first === 0xfe) return this.#ok(bytes, at, end);
    else if (first === 0xfb) return this.#infile(bytes, at, end);
    else {
      const wide = first > 0xfb;
      this.fields = wide ? bytes[at + 5]! | bytes[at + 6]! << 8 | (first === 0xfd ? bytes[at + 7]! << 16 : 0) : first;
      if (this.fields === 0) return this.fail(at, "a result set without columns");
      this.state = STATE.FIELDS;
    }
    this.number(bytes, at);
    return end;
  }

  #err(bytes: Uint8Array, at: number, end: number): number {
    const err = readErr(bytes, at + HEADER, end);
    if (err === undefined) return this.fail(at, "an error packet that is cut off");
    if (err.code === PROGRESS) {
      // The client has not asked for progress reports.
      this.#out.drop(at, end);
      this.seq = (this.seq + 1) & 0xff;
      this.shift--;
      return end;
    }
    if (this.eofDue) this.insertEof(at);
    this.number(bytes, at);
    this.fields = 0;
    this.state = STATE.IDLE;
    this.#observer.onErr(err);
    return end;
  }

  /** An OK, or the end of rows or definitions. */
  #ok(bytes: Uint8Array, at: number, end: number): number {
    const ok = readOk(bytes, at + HEADER, end);
    if (ok === undefined) return this.fail(at, "an OK packet that is cut off");
    const client = this.#client;
    // A cursor was opened: the one EOF that ends the definitions is all there is.
    if (this.#command === COM.STMT_EXECUTE && ok.status & STATUS.CURSOR_EXISTS) this.eofDue = false;
    if (this.eofDue) this.insertEof(at);
    if (this.eof >= 0) this.#out.correct(this.eof, ok.status & ~ENDING);
    this.eof = -1;
    this.number(bytes, at);
    const eof = bytes[at + 4] === 0xfe && !client.deprecateEof;
    const newEnd = eof ? putEofPayload(bytes, at + HEADER, ok) : trimOk(bytes, end, ok, client);
    if (newEnd !== end) {
      const length = newEnd - at - HEADER;
      bytes[at] = length & 0xff;
      bytes[at + 1] = length >> 8 & 0xff;
      bytes[at + 2] = length >> 16;
      this.#out.drop(newEnd, end);
    }
    this.#after(ok);
    this.#observer.onOk(ok);
    return end;
  }

  #after(ok: OkPacket): void {
    this.#status = ok.status;
    this.#results--;
    this.state = ok.status & STATUS.MORE_RESULTS && chains(this.#command) ? STATE.FIRST : STATE.IDLE;
  }

  #prepared(bytes: Uint8Array, at: number, end: number): number {
    const id = (bytes[at + 5]! | bytes[at + 6]! << 8 | bytes[at + 7]! << 16 | bytes[at + 8]! << 24) >>> 0;
    this.#columns = bytes[at + 9]! | bytes[at + 10]! << 8;
    this.fields = bytes[at + 11]! | bytes[at + 12]! << 8;
    this.number(bytes, at);
    this.#observer.onPrepared(id, this.#columns, this.fields);
    if (this.fields > 0) this.state = STATE.PARAMETERS;
    else this.#toColumns();
    return end;
  }

  #toColumns(): void {
    this.fields = this.#columns;
    this.state = this.fields > 0 ? STATE.COLUMNS : STATE.IDLE;
  }

  /** The last of a known number of definitions has passed. */
  section(at: number): void {
    if (this.state === STATE.FIELDS) {
      this.state = STATE.ROWS;
      this.eofDue = !this.#client.deprecateEof;
      return;
    }
    if (!this.#client.deprecateEof) {
      this.insertEof(at);
      this.eof = -1;
    }
    if (this.state === STATE.PARAMETERS) this.#toColumns();
    else this.state = STATE.IDLE;
  }

  #infile(bytes: Uint8Array, at: number, end: number): number {
    if (this.#allowInfile) this.number(bytes, at);
    else {
      this.#out.drop(at, end);
      this.seq = (this.seq + 1) & 0xff;
    }
    this.state = STATE.INFILE;
    return end;
  }

  /** Gives a frame the client's number. */
  number(bytes: Uint8Array, at: number): void {
    bytes[at + 3] = this.seq + this.shift;
    this.seq = (this.seq + 1) & 0xff;
  }

  insertEof(at: number): void {
    const more = this.#results > 1 ? STATUS.MORE_RESULTS : 0;
    this.eof = this.#out.eof(at, this.nextSeq, this.#status & LASTING | more);
    this.shift++;
    this.eofDue = false;
  }

  fail(at: number, what: string): number {
    this.state = STATE.DEAD;
    this.error = new CoreError("DB_PROTOCOL", `The database sent ${what} in reply to command ${this.#command}`);
    return at;
  }
}
