/**
 * Replies to the proxy's own commands, which go to a backend in one write with a client's: collected, not relayed.
 *
 * @module
 */
import { CoreError } from "../../../core/error.ts";
import type { ErrPacket, OkPacket } from "../wire/packets.ts";
import { STATUS } from "../wire/status.ts";
import { Held } from "./held.ts";
import { readErr, readLenenc, readOk } from "./ok_frame.ts";
import { chains, firstState, HEADER, isCounted, kindOf, PACKET, STATE, type State } from "./shapes.ts";

/** Bytes; the proxy's own commands ask for nothing larger. */
const LONGEST = 1_048_576;
const text = new TextDecoder();

/** A whole reply. Of several results the last one's; `err` alone when the last one failed. */
export interface Collected {
  /** The OK, or the end of the result set. */
  readonly ok?: OkPacket;
  readonly err?: ErrPacket;
  /** Names of the columns of a text result. */
  readonly columns?: string[];
  readonly rows?: (string | null)[][];
}

interface Awaited {
  readonly command: number;
  readonly done: (reply: Collected) => void;
}

/** One reply after the other, in the order of their commands. */
export class ReplyCollector {
  readonly #awaited: Awaited[] = [];
  readonly #held = new Held();
  #state: State = STATE.IDLE;
  #seq = 0;
  #size = 0;
  #fields = 0;
  #columns: string[] | undefined;
  #rows: (string | null)[][] | undefined;

  /** Replies still expected. */
  get waiting(): number {
    return this.#awaited.length;
  }

  /** Expects the reply to a command, after those expected before. For a query, or a command that OK, ERR or an end answers. */
  expect(command: number, done: (reply: Collected) => void): void {
    this.#awaited.push({ command, done });
    if (this.#awaited.length === 1) this.#begin();
  }

  /**
   * Takes bytes of the backend. Returns how many were of the expected replies; the rest is someone else's.
   *
   * @throws CoreError `DB_PROTOCOL` when the stream makes no sense, or a reply is longer than 1 MiB
   */
  push(chunk: Uint8Array): number {
    const held = this.#held;
    let at = 0;
    while (this.#awaited.length > 0 && (at < chunk.length || held.length > 0)) {
      if (held.length === 0 && chunk.length - at >= HEADER) {
        const end = at + HEADER + this.#lengthOf(chunk, at);
        if (end <= chunk.length) {
          this.#packet(chunk, at, end);
          at = end;
          continue;
        }
      }
      at += held.fill(chunk, at, HEADER);
      if (held.length < HEADER) return at;
      const size = HEADER + this.#lengthOf(held.bytes, 0);
      at += held.fill(chunk, at, size);
      if (held.length < size) return at;
      const bytes = held.bytes;
      held.clear();
      this.#packet(bytes, 0, size);
    }
    return at;
  }

  #begin(): void {
    const next = this.#awaited[0];
    this.#state = next === undefined ? STATE.IDLE : firstState(next.command);
    this.#seq = 1;
    this.#size = this.#fields = 0;
    this.#columns = this.#rows = undefined;
  }

  #lengthOf(bytes: Uint8Array, at: number): number {
    const length = bytes[at]! | bytes[at + 1]! << 8 | bytes[at + 2]! << 16;
    if (length + this.#size > LONGEST) throw this.#error("a reply of more than 1 MiB");
    return length;
  }

  #packet(bytes: Uint8Array, at: number, end: number): void {
    const start = at + HEADER;
    this.#size += end - at;
    const first = bytes[start]!;
    const kind = kindOf(this.#state, first, end - start);
    const seq = bytes[at + 3]!;
    if (kind === PACKET.NONSENSE) throw this.#error(`a packet of ${end - start} bytes that begins with ${first}`);
    if (seq !== this.#seq && !(first === 0xff && seq === 0)) {
      throw this.#error(`packet number ${seq} where ${this.#seq} was due`);
    }
    this.#seq = (seq + 1) & 0xff;
    if (kind === PACKET.PASSES) this.#read(bytes, start, end);
    else if (first === 0xff) {
      const err = readErr(bytes, start, end)!;
      if (err.code !== 0xffff) this.#finish({ err });
    } else if (this.#state === STATE.TEXT) {
      this.#finish({ columns: [], rows: [[text.decode(bytes.subarray(start, end))]] });
    } else if (first === 0 || first === 0xfe) this.#ok(bytes, start, end);
    else if (first === 0xfb) throw this.#error("a request for a file");
    else this.#count(bytes, start, end);
  }

  #count(bytes: Uint8Array, start: number, end: number): void {
    this.#fields = Number(readLenenc(bytes, start, end).value);
    if (this.#fields === 0) throw this.#error("a result set without columns");
    this.#columns = [];
    this.#rows = [];
    this.#state = STATE.FIELDS;
  }

  /** A definition or a row. */
  #read(bytes: Uint8Array, start: number, end: number): void {
    const counted = isCounted(this.#state);
    if (!counted && this.#columns === undefined) throw this.#error("rows without columns");
    const values = this.#strings(bytes, start, end, counted ? 5 : this.#columns!.length);
    if (!counted) this.#rows!.push(values);
    else {
      // Catalogue, schema, table, original table, name.
      this.#columns!.push(values[4] ?? "");
      if (--this.#fields === 0) this.#state = STATE.ROWS;
    }
  }

  #strings(bytes: Uint8Array, start: number, end: number, count: number): (string | null)[] {
    const values: (string | null)[] = [];
    for (let at = start; values.length < count;) {
      if (bytes[at] === 0xfb && at < end) {
        values.push(null);
        at++;
        continue;
      }
      const { value, next } = readLenenc(bytes, at, end);
      at = next + Number(value);
      if (!(at <= end)) throw this.#error("a row or a definition that is cut off");
      values.push(text.decode(bytes.subarray(next, at)));
    }
    return values;
  }

  #ok(bytes: Uint8Array, start: number, end: number): void {
    if (this.#state === STATE.PREPARED) throw this.#error("the answer to a prepare");
    const ok = readOk(bytes, start, end);
    if (ok === undefined) throw this.#error("an OK packet that is cut off");
    const [columns, rows] = [this.#columns, this.#rows];
    if (ok.status & STATUS.MORE_RESULTS && chains(this.#awaited[0]!.command)) {
      this.#state = STATE.FIRST;
      this.#columns = this.#rows = undefined;
    } else this.#finish(columns && rows ? { ok, columns, rows } : { ok });
  }

  #finish(reply: Collected): void {
    const { done } = this.#awaited.shift()!;
    this.#begin();
    done(reply);
  }

  #error(what: string): CoreError {
    return new CoreError("DB_PROTOCOL", `The database sent ${what} in reply to command ${this.#awaited[0]!.command}`);
  }
}
