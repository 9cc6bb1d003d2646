/**
 * The relay of a backend's replies to its client. Backends speak DEPRECATE_EOF and SESSION_TRACK; for a client that does not,
 * the ends of results are rewritten and every sequence number behind an inserted EOF is shifted. Rows are neither read
 * nor copied: only the headers of frames are walked.
 *
 * Source of the shapes: the protocol's documentation, and both servers' replies as they are on the wire.
 *
 * @module
 */
import { CoreError } from "../../../core/error.ts";
import { COM } from "../wire/commands.ts";
import type { OkPacket } from "../wire/packets.ts";
import { STATUS } from "../wire/status.ts";
import { Held } from "./held.ts";
import type { BeginOptions, ReplyClient, ReplyObserver } from "./observer.ts";
import { putEofPayload, readErr, readOk, trimOk } from "./ok_frame.ts";
import { chains, firstState, isCounted, kindOf, PACKET, SPLIT, STATE, type State } from "./shapes.ts";
import { Staging, type Write } from "./staging.ts";

export type { BeginOptions, ReplyClient, ReplyObserver } from "./observer.ts";

const HEADER = 4;
/** The code of MariaDB's progress reports, which look like errors. */
const PROGRESS = 0xffff;
/** What a session's status says of its next result, too. */
const LASTING = STATUS.IN_TRANS | STATUS.AUTOCOMMIT | STATUS.NO_BACKSLASH_ESCAPES | STATUS.IN_TRANS_READONLY |
  STATUS.ANSI_QUOTES;
/** What the end of a result set says, but not yet its beginning. */
const ENDING = STATUS.LAST_ROW_SENT | STATUS.SESSION_STATE_CHANGED;

export class ReplyRelay {
  readonly #client: ReplyClient;
  readonly #write: Write;
  readonly #observer: ReplyObserver;
  readonly #out = new Staging();
  readonly #held = new Held();
  #state: State = STATE.IDLE;
  #error: CoreError | undefined;
  #command = 0;
  #allowInfile = false;
  /** Results that the text promises and that have not ended. */
  #results = 1;
  #status: number = STATUS.AUTOCOMMIT;
  #rows = 0;
  #bytes = 0;
  /** The backend's next sequence number; -1 when any is right. */
  #seq = 0;
  #shift = 0;
  /** Bytes of the frame under way that are still to come. */
  #left = 0;
  /** The next frame continues a packet. */
  #split = false;
  /** Definitions still to come. */
  #fields = 0;
  /** Columns of the statement being prepared. */
  #columns = 0;
  /** A classic client awaits an EOF before the next packet. */
  #eofDue = false;
  /** The EOF put in before the rows, as long as it can be corrected; -1 else. */
  #eof = -1;

  constructor(client: ReplyClient, write: Write, observer: ReplyObserver) {
    this.#client = client;
    this.#write = write;
    this.#observer = observer;
  }

  /** Rows of the current or last reply. */
  get rows(): number {
    return this.#rows;
  }

  /** Bytes of the current or last reply that the client was sent. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The client's next sequence number: what an error packet of the proxy's own must carry. */
  get nextSeq(): number {
    return (this.#seq + this.#shift) & 0xff;
  }

  /** The backend's next sequence number; when it asked for a file, that of the file's first packet. */
  get backendSeq(): number {
    return this.#seq & 0xff;
  }

  /** How far the client's sequence numbers are ahead of the backend's, modulo 256. */
  get shift(): number {
    return this.#shift & 0xff;
  }

  /** A reply is awaited or under way. */
  get active(): boolean {
    return this.#state !== STATE.IDLE && this.#state !== STATE.DEAD;
  }

  /** What the client was sent ends with a whole packet, so that an error packet may follow. */
  get whole(): boolean {
    return this.#left === 0 && !this.#split;
  }

  /** Expects the reply to a command. One that has none (CLOSE, SEND_LONG_DATA, QUIT) leaves the relay inactive, without `onEnd`. */
  begin(command: number, options: BeginOptions = {}): void {
    if (this.#state === STATE.DEAD) return;
    this.#state = firstState(command);
    this.#command = command;
    this.#allowInfile = options.allowInfile ?? false;
    this.#results = options.results ?? 1;
    this.#seq = options.seq ?? 1;
    this.#rows = this.#bytes = this.#shift = 0;
    this.#eofDue = false;
  }

  /** The client has sent its file; the server's answer comes next, with this sequence number, or with any when it is not given. */
  infileSent(backendSeq: number = -1): void {
    if (this.#state !== STATE.INFILE) return;
    this.#state = STATE.FIRST;
    if (this.#allowInfile) this.#seq = backendSeq;
    else {
      // The request and the empty answer to it are two packets that the client knows nothing of.
      this.#seq = (this.#seq + 1) & 0xff;
      this.#shift -= 2;
    }
  }

  /** Takes bytes of the backend, changes them in place and passes them on. Returns how many were of this reply. */
  push(chunk: Uint8Array): number {
    if (this.#state === STATE.IDLE) return 0;
    if (this.#state === STATE.DEAD) return chunk.length;
    // An error may come before the whole file is there.
    if (this.#state === STATE.INFILE) this.infileSent();
    const start = this.#held.length > 0 ? this.#resume(chunk) : 0;
    this.#out.open(chunk, start);
    const at = this.#run(chunk, start);
    this.#out.close(at);
    this.#bytes += this.#out.flush(this.#write);
    this.#eof = -1;
    switch (this.#state as State) {
      case STATE.IDLE:
        this.#observer.onEnd();
        return at;
      case STATE.DEAD:
        this.#observer.onBroken(this.#error!);
        return chunk.length;
      case STATE.INFILE:
        this.#observer.onInfile();
        return at < chunk.length ? at + this.push(chunk.subarray(at)) : at;
      default:
        return at;
    }
  }

  /** Walks the chunk up to its end, or the end of the reply; what is cut off is held. Returns where it stopped. */
  #run(chunk: Uint8Array, at: number): number {
    const end = chunk.length;
    for (;;) {
      if (this.#left > 0) {
        const passed = Math.min(this.#left, end - at);
        at += passed;
        if ((this.#left -= passed) > 0) return at;
      }
      if (!this.#split) {
        if (this.#fields === 0 && isCounted(this.#state)) this.#section(at);
        if (this.#state === STATE.IDLE || this.#state >= STATE.INFILE || at >= end) return at;
        if ((this.#state === STATE.ROWS && !this.#eofDue) || this.#fields > 0) {
          at = this.#walk(chunk, at);
          if (this.#left > 0) return end;
          if (at >= end || (this.#fields === 0 && isCounted(this.#state))) continue;
        }
      } else if (at >= end) return at;
      if (end - at < this.#need(chunk, at, end)) {
        this.#out.drop(at, end);
        this.#held.fill(chunk, at, end - at);
        return end;
      }
      at = this.#step(chunk, at);
      if (this.#state === STATE.DEAD) return at;
    }
  }

  /** Passes rows or definitions as long as they are whole frames, or the last one's end is all that is missing. */
  #walk(chunk: Uint8Array, at: number): number {
    const end = chunk.length;
    const shift = this.#shift;
    const most = this.#fields > 0 ? this.#fields : Infinity;
    let seq = this.#seq;
    let count = 0;
    while (end - at > HEADER && count < most) {
      const length = chunk[at]! | chunk[at + 1]! << 8 | chunk[at + 2]! << 16;
      if (chunk[at + 4]! >= 0xfe || chunk[at + 3] !== seq || length === SPLIT || length === 0) break;
      chunk[at + 3] = seq + shift;
      seq = (seq + 1) & 0xff;
      at += HEADER + length;
      count++;
    }
    this.#seq = seq;
    if (this.#fields > 0) this.#fields -= count;
    else this.#rows += count;
    if (at > end) this.#left = at - end;
    return at;
  }

  /** Completes the frame that the last chunk has cut off, as far as it must be. Returns how much of the chunk that took. */
  #resume(chunk: Uint8Array): number {
    const held = this.#held;
    let at = 0;
    for (;;) {
      const need = this.#need(held.bytes, 0, held.length);
      if (held.length >= need) break;
      at += held.fill(chunk, at, need);
      if (held.length < need) return at;
    }
    this.#out.open(held.bytes, 0);
    const end = this.#step(held.bytes, 0);
    if (this.#state !== STATE.DEAD) {
      // Of a frame that passes, more may be held than its header.
      this.#left -= held.length - end;
      this.#out.close(held.length);
    }
    held.clear();
    return at;
  }

  /** How many bytes of a frame must be there before it can be dealt with. */
  #need(bytes: Uint8Array, at: number, end: number): number {
    if (this.#split || end - at < HEADER) return HEADER;
    const length = bytes[at]! | bytes[at + 1]! << 8 | bytes[at + 2]! << 16;
    if (length === 0) return HEADER;
    if (end - at === HEADER) return HEADER + 1;
    return kindOf(this.#state, bytes[at + 4]!, length) === PACKET.CONTROL ? HEADER + length : HEADER + 1;
  }

  /** Deals with one frame. Returns where its header ended when it passes, and else where it ended. */
  #step(bytes: Uint8Array, at: number): number {
    const length = bytes[at]! | bytes[at + 1]! << 8 | bytes[at + 2]! << 16;
    const first = bytes[at + 4]!;
    const kind = this.#split ? PACKET.PASSES : kindOf(this.#state, first, length);
    const seq = bytes[at + 3]!;
    if (this.#seq < 0) this.#seq = seq;
    // A server that gives up a connection by itself numbers its error from 0.
    if (seq !== this.#seq && !(kind === PACKET.CONTROL && first === 0xff && seq === 0)) {
      return this.#fail(at, `packet number ${seq} where ${this.#seq} was due`);
    }
    if (kind === PACKET.NONSENSE) return this.#fail(at, `a packet of ${length} bytes that begins with ${first}`);
    if (kind === PACKET.CONTROL) return this.#control(bytes, at, at + HEADER + length);
    if (this.#eofDue) this.#insertEof(at);
    if (!this.#split) {
      if (this.#fields > 0) this.#fields--;
      else if (this.#state === STATE.ROWS) this.#rows++;
    }
    this.#number(bytes, at);
    this.#left = length;
    this.#split = length === SPLIT;
    return at + HEADER;
  }

  /** A packet that says something of the reply's course; all of it is in `bytes`, in one frame. */
  #control(bytes: Uint8Array, at: number, end: number): number {
    const first = bytes[at + 4]!;
    if (first === 0xff) return this.#err(bytes, at, end);
    const state = this.#state;
    if (state === STATE.PREPARED) return this.#prepared(bytes, at, end);
    if (state === STATE.TEXT) this.#state = STATE.IDLE;
    else if (first === 0 || first === 0xfe) return this.#ok(bytes, at, end);
    else if (first === 0xfb) return this.#infile(bytes, at, end);
    else {
      const wide = first > 0xfb;
      this.#fields = wide ? bytes[at + 5]! | bytes[at + 6]! << 8 | (first === 0xfd ? bytes[at + 7]! << 16 : 0) : first;
      if (this.#fields === 0) return this.#fail(at, "a result set without columns");
      this.#state = STATE.FIELDS;
    }
    this.#number(bytes, at);
    return end;
  }

  #err(bytes: Uint8Array, at: number, end: number): number {
    const err = readErr(bytes, at + HEADER, end);
    if (err === undefined) return this.#fail(at, "an error packet that is cut off");
    if (err.code === PROGRESS) {
      // The client has not asked for progress reports.
      this.#out.drop(at, end);
      this.#seq = (this.#seq + 1) & 0xff;
      this.#shift--;
      return end;
    }
    if (this.#eofDue) this.#insertEof(at);
    this.#number(bytes, at);
    this.#fields = 0;
    this.#state = STATE.IDLE;
    this.#observer.onErr(err);
    return end;
  }

  /** An OK, or the end of rows or definitions. */
  #ok(bytes: Uint8Array, at: number, end: number): number {
    const ok = readOk(bytes, at + HEADER, end);
    if (ok === undefined) return this.#fail(at, "an OK packet that is cut off");
    const client = this.#client;
    // A cursor was opened: the one EOF that ends the definitions is all there is.
    if (this.#command === COM.STMT_EXECUTE && ok.status & STATUS.CURSOR_EXISTS) this.#eofDue = false;
    if (this.#eofDue) this.#insertEof(at);
    if (this.#eof >= 0) this.#out.correct(this.#eof, ok.status & ~ENDING);
    this.#eof = -1;
    this.#number(bytes, at);
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
    this.#state = ok.status & STATUS.MORE_RESULTS && chains(this.#command) ? STATE.FIRST : STATE.IDLE;
  }

  #prepared(bytes: Uint8Array, at: number, end: number): number {
    const id = (bytes[at + 5]! | bytes[at + 6]! << 8 | bytes[at + 7]! << 16 | bytes[at + 8]! << 24) >>> 0;
    this.#columns = bytes[at + 9]! | bytes[at + 10]! << 8;
    this.#fields = bytes[at + 11]! | bytes[at + 12]! << 8;
    this.#number(bytes, at);
    this.#observer.onPrepared(id, this.#columns, this.#fields);
    if (this.#fields > 0) this.#state = STATE.PARAMETERS;
    else this.#toColumns();
    return end;
  }

  #toColumns(): void {
    this.#fields = this.#columns;
    this.#state = this.#fields > 0 ? STATE.COLUMNS : STATE.IDLE;
  }

  /** The last of a known number of definitions has passed. */
  #section(at: number): void {
    if (this.#state === STATE.FIELDS) {
      this.#state = STATE.ROWS;
      this.#eofDue = !this.#client.deprecateEof;
      return;
    }
    if (!this.#client.deprecateEof) {
      this.#insertEof(at);
      this.#eof = -1;
    }
    if (this.#state === STATE.PARAMETERS) this.#toColumns();
    else this.#state = STATE.IDLE;
  }

  #infile(bytes: Uint8Array, at: number, end: number): number {
    if (this.#allowInfile) this.#number(bytes, at);
    else {
      this.#out.drop(at, end);
      this.#seq = (this.#seq + 1) & 0xff;
    }
    this.#state = STATE.INFILE;
    return end;
  }

  /** Gives a frame the client's number. */
  #number(bytes: Uint8Array, at: number): void {
    bytes[at + 3] = this.#seq + this.#shift;
    this.#seq = (this.#seq + 1) & 0xff;
  }

  #insertEof(at: number): void {
    const more = this.#results > 1 ? STATUS.MORE_RESULTS : 0;
    this.#eof = this.#out.eof(at, this.nextSeq, this.#status & LASTING | more);
    this.#shift++;
    this.#eofDue = false;
  }

  #fail(at: number, what: string): number {
    this.#state = STATE.DEAD;
    this.#error = new CoreError("DB_PROTOCOL", `The database sent ${what} in reply to command ${this.#command}`);
    return at;
  }
}
