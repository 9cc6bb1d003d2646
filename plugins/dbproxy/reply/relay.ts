/**
 * The relay of a backend's replies to its client. Backends speak DEPRECATE_EOF and SESSION_TRACK; for a client that does not,
 * the ends of results are rewritten and every sequence number behind an inserted EOF is shifted. Rows are neither read
 * nor copied: only the headers of frames are walked.
 *
 * Source of the shapes: the protocol's documentation, and both servers' replies as they are on the wire.
 *
 * @module
 */
import { Course } from "./course.ts";
import { Held } from "./held.ts";
import type { BeginOptions, ReplyClient, ReplyObserver } from "./observer.ts";
import { HEADER, isCounted, kindOf, PACKET, SPLIT, STATE, type State } from "./shapes.ts";
import { Staging, type Write } from "./staging.ts";

export type { BeginOptions, ReplyClient, ReplyObserver } from "./observer.ts";

export class ReplyRelay {
  readonly #write: Write;
  readonly #observer: ReplyObserver;
  readonly #out = new Staging();
  readonly #held = new Held();
  readonly #course: Course;
  #bytes = 0;
  /** Bytes of the frame under way that are still to come. */
  #left = 0;
  /** The next frame continues a packet. */
  #split = false;

  constructor(client: ReplyClient, write: Write, observer: ReplyObserver) {
    this.#write = write;
    this.#observer = observer;
    this.#course = new Course(client, observer, this.#out);
  }

  /** Rows of the current or last reply. */
  get rows(): number {
    return this.#course.rows;
  }

  /** Bytes of the current or last reply that the client was sent. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The client's next sequence number: what an error packet of the proxy's own must carry. */
  get nextSeq(): number {
    return this.#course.nextSeq;
  }

  /** The backend's next sequence number; when it asked for a file, that of the file's first packet. */
  get backendSeq(): number {
    return this.#course.seq & 0xff;
  }

  /** How far the client's sequence numbers are ahead of the backend's, modulo 256. */
  get shift(): number {
    return this.#course.shift & 0xff;
  }

  /** A reply is awaited or under way. */
  get active(): boolean {
    const { state } = this.#course;
    return state !== STATE.IDLE && state !== STATE.DEAD;
  }

  /** What the client was sent ends with a whole packet, so that an error packet may follow. */
  get whole(): boolean {
    return this.#left === 0 && !this.#split;
  }

  /** Expects the reply to a command. One that has none (CLOSE, SEND_LONG_DATA, QUIT) leaves the relay inactive, without `onEnd`. */
  begin(command: number, options: BeginOptions = {}): void {
    if (this.#course.state === STATE.DEAD) return;
    this.#course.begin(command, options);
    this.#bytes = 0;
  }

  /** The client has sent its file; the server's answer comes next, with this sequence number, or with any when it is not given. */
  infileSent(backendSeq: number = -1): void {
    this.#course.infileSent(backendSeq);
  }

  /** Takes bytes of the backend, changes them in place and passes them on. Returns how many were of this reply. */
  push(chunk: Uint8Array): number {
    const course = this.#course;
    if (course.state === STATE.IDLE) return 0;
    if (course.state === STATE.DEAD) return chunk.length;
    // An error may come before the whole file is there.
    if (course.state === STATE.INFILE) course.infileSent(-1);
    const start = this.#held.length > 0 ? this.#resume(chunk) : 0;
    this.#out.open(chunk, start);
    const at = this.#run(chunk, start);
    this.#out.close(at);
    this.#bytes += this.#out.flush(this.#write);
    course.eof = -1;
    switch (course.state as State) {
      case STATE.IDLE:
        this.#observer.onEnd();
        return at;
      case STATE.DEAD:
        this.#observer.onBroken(course.error!);
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
    const course = this.#course;
    const end = chunk.length;
    for (;;) {
      if (this.#left > 0) {
        const passed = Math.min(this.#left, end - at);
        at += passed;
        if ((this.#left -= passed) > 0) return at;
      }
      if (!this.#split) {
        if (course.fields === 0 && isCounted(course.state)) course.section(at);
        if (course.state === STATE.IDLE || course.state >= STATE.INFILE || at >= end) return at;
        if ((course.state === STATE.ROWS && !course.eofDue) || course.fields > 0) {
          at = this.#walk(chunk, at);
          if (this.#left > 0) return end;
          if (at >= end || (course.fields === 0 && isCounted(course.state))) continue;
        }
      } else if (at >= end) return at;
      if (end - at < this.#need(chunk, at, end)) {
        this.#out.drop(at, end);
        this.#held.fill(chunk, at, end - at);
        return end;
      }
      at = this.#step(chunk, at);
      if (course.state === STATE.DEAD) return at;
    }
  }

  /** Passes rows or definitions as long as they are whole frames, or the last one's end is all that is missing. */
  #walk(chunk: Uint8Array, at: number): number {
    const course = this.#course;
    const end = chunk.length;
    const shift = course.shift;
    const most = course.fields > 0 ? course.fields : Infinity;
    let seq = course.seq;
    let count = 0;
    while (end - at > HEADER && count < most) {
      const length = chunk[at]! | chunk[at + 1]! << 8 | chunk[at + 2]! << 16;
      if (chunk[at + 4]! >= 0xfe || chunk[at + 3] !== seq || length === SPLIT || length === 0) break;
      chunk[at + 3] = seq + shift;
      seq = (seq + 1) & 0xff;
      at += HEADER + length;
      count++;
    }
    course.seq = seq;
    if (course.fields > 0) course.fields -= count;
    else course.rows += count;
    if (at > end) this.#left = at - end;
    return at;
  }

  /** Completes the frame that the last chunk has cut off, as far as it must be. Returns how much of the chunk that took. */
  #resume(chunk: Uint8Array): number {
    const course = this.#course;
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
    if (course.state !== STATE.DEAD) {
      // Of a frame that passes, more may be held than its header.
      this.#left -= held.length - end;
      this.#out.close(held.length);
    }
    held.clear();
    return at;
  }

  /** How many bytes of a frame must be there before it can be dealt with. */
  #need(bytes: Uint8Array, at: number, end: number): number {
    const course = this.#course;
    if (this.#split || end - at < HEADER) return HEADER;
    const length = bytes[at]! | bytes[at + 1]! << 8 | bytes[at + 2]! << 16;
    if (length === 0) return HEADER;
    if (end - at === HEADER) return HEADER + 1;
    return kindOf(course.state, bytes[at + 4]!, length) === PACKET.CONTROL ? HEADER + length : HEADER + 1;
  }

  /** Deals with one frame. Returns where its header ended when it passes, and else where it ended. */
  #step(bytes: Uint8Array, at: number): number {
    const course = this.#course;
    const length = bytes[at]! | bytes[at + 1]! << 8 | bytes[at + 2]! << 16;
    const first = bytes[at + 4]!;
    const kind = this.#split ? PACKET.PASSES : kindOf(course.state, first, length);
    const seq = bytes[at + 3]!;
    if (course.seq < 0) course.seq = seq;
    // A server that gives up a connection by itself numbers its error from 0.
    if (seq !== course.seq && !(kind === PACKET.CONTROL && first === 0xff && seq === 0)) {
      return course.fail(at, `packet number ${seq} where ${course.seq} was due`);
    }
    if (kind === PACKET.NONSENSE) return course.fail(at, `a packet of ${length} bytes that begins with ${first}`);
    if (kind === PACKET.CONTROL) return course.control(bytes, at, at + HEADER + length);
    if (course.eofDue) course.insertEof(at);
    if (!this.#split) {
      if (course.fields > 0) course.fields--;
      else if (course.state === STATE.ROWS) course.rows++;
    }
    course.number(bytes, at);
    this.#left = length;
    this.#split = length === SPLIT;
    return at + HEADER;
  }
}
