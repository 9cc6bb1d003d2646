/**
 * What goes out of one chunk: stretches of it as they are, and EOF packets between them. Small ones go out as one write.
 *
 * @module
 */

/** Up to here a chunk's whole output is copied together into one write. */
const TOGETHER = 16_384;
/** In a larger output, pieces up to this size are copied together, so that no write is tiny. */
const SMALL = 2_048;
const SLAB = 65_536;

let slab: Uint8Array = new Uint8Array(SLAB);
let used = 0;

/** Bytes that are written once and never again, cut off one shared piece of memory. */
function allocate(size: number): Uint8Array {
  if (used + size > SLAB) {
    slab = new Uint8Array(SLAB);
    used = 0;
  }
  const start = used;
  used += size;
  return view(slab, start, used);
}

/** As `subarray`, which takes several times as long. */
function view(bytes: Uint8Array, start: number, end: number): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start);
}

/** Up to here a loop is faster than a view and `set`. */
const LOOP = 256;

const EOF_SIZE = 9;

function putEof(to: Uint8Array, at: number, seq: number, status: number): void {
  to[at] = 5;
  to[at + 1] = to[at + 2] = 0;
  to[at + 3] = seq;
  to[at + 4] = 0xfe;
  to[at + 5] = to[at + 6] = 0;
  to[at + 7] = status & 0xff;
  to[at + 8] = status >> 8;
}

function copy(to: Uint8Array, at: number, from: Uint8Array, start: number, end: number): void {
  if (end - start > LOOP) to.set(view(from, start, end), at);
  else for (let i = start; i < end; i++) to[at++] = from[i]!;
}

/** `last`: nothing of this chunk follows. */
export type Write = (bytes: Uint8Array, last: boolean) => void;

export class Staging {
  // Piece i is [starts[i], ends[i]) of sources[i]; without a source it is an EOF packet: its sequence number and status.
  readonly #sources: (Uint8Array | undefined)[] = [];
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  #count = 0;
  #total = 0;
  #source: Uint8Array | undefined;
  #start = 0;

  /** Begins a stretch. */
  open(source: Uint8Array, at: number): void {
    this.#source = source;
    this.#start = at;
  }

  /** Ends the stretch. */
  close(at: number): void {
    if (at > this.#start) this.#add(this.#source, this.#start, at, at - this.#start);
    this.#start = at;
  }

  /** Leaves out a part of the stretch. */
  drop(from: number, to: number): void {
    if (from === to) return;
    this.close(from);
    this.#start = to;
  }

  /** Puts an EOF packet without warnings into the stretch. Returns its number, for `correct`. */
  eof(at: number, seq: number, status: number): number {
    this.close(at);
    this.#add(undefined, seq, status, EOF_SIZE);
    return this.#count - 1;
  }

  /** Gives an EOF packet that was put in since the last flush another status. */
  correct(eof: number, status: number): void {
    this.#ends[eof] = status;
  }

  #add(source: Uint8Array | undefined, start: number, end: number, size: number): void {
    const i = this.#count++;
    this.#sources[i] = source;
    this.#starts[i] = start;
    this.#ends[i] = end;
    this.#total += size;
  }

  /** Writes everything. Returns how many bytes that was. */
  flush(write: Write): number {
    const count = this.#count;
    const total = this.#total;
    if (count === 0) return 0;
    this.#count = this.#total = 0;
    if (count === 1 && this.#sources[0] !== undefined) write(this.#cut(0), true);
    else if (total <= TOGETHER) write(this.#join(0, count, total), true);
    else this.#writeApart(count, write);
    // A list kept for the longest output would keep its chunks, too.
    if (count > 64) this.#sources.length = this.#starts.length = this.#ends.length = 0;
    else this.#sources.fill(undefined, 0, count);
    this.#source = undefined;
    return total;
  }

  /** Large pieces as they are, small ones between them together. */
  #writeApart(count: number, write: Write): void {
    let first = 0;
    let size = 0;
    for (let i = 0; i < count; i++) {
      const length = this.#size(i);
      if (length > SMALL || size + length > TOGETHER) {
        if (size > 0) write(this.#join(first, i, size), false);
        size = 0;
        first = i;
      }
      if (length > SMALL) {
        write(this.#cut(i), i + 1 === count);
        first = i + 1;
      } else size += length;
    }
    if (size > 0) write(this.#join(first, count, size), true);
  }

  #size(i: number): number {
    return this.#sources[i] === undefined ? EOF_SIZE : this.#ends[i]! - this.#starts[i]!;
  }

  #cut(i: number): Uint8Array {
    const source = this.#sources[i]!;
    const [start, end] = [this.#starts[i]!, this.#ends[i]!];
    return start === 0 && end === source.length ? source : view(source, start, end);
  }

  #join(first: number, end: number, size: number): Uint8Array {
    const bytes = allocate(size);
    for (let i = first, at = 0; i < end; at += this.#size(i++)) {
      const source = this.#sources[i];
      if (source === undefined) putEof(bytes, at, this.#starts[i]!, this.#ends[i]!);
      else copy(bytes, at, source, this.#starts[i]!, this.#ends[i]!);
    }
    return bytes;
  }
}
