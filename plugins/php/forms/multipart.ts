import { Buffer } from "node:buffer";
import { Gathered } from "./gathered.ts";
import { type FormLimits, malformed, partsAllowed, tooLarge } from "./limits.ts";
import { partHead } from "./part_head.ts";

/** Hears of the parts, in the order of the body. Bytes are views of what was pushed. */
export interface MultipartSink {
  field(name: string, value: string): void;
  /** A file begins; `fileData` and one `fileEnd` follow. */
  file(name: string, filename: string, mime: string): void;
  fileData(bytes: Uint8Array): void;
  /** @param error one of PHP's UPLOAD_ERR_*: 0, 1, 2, 3 or 4 */
  fileEnd(error: number): void;
}

const lf = 10;
const cr = 13;
const newline = Buffer.from("\n");
const nothing = Buffer.alloc(0);

/** PHP reads lines through a buffer of this size: a longer line counts as several. */
const lineBuffer = 5120;
/** Bytes of one part's header lines; PHP has no limit, and no client comes near. */
const maxHead = 65_536;

/** What an empty field is counted as (bytes): about what keeping it costs. */
const fieldCost = 64;

/** What is being read. */
type Reading =
  /** Skipping lines up to one that is the boundary and nothing else. */
  | "gap"
  | "head"
  | "field"
  | "file"
  /** Nothing more is taken. */
  | "over";

/**
 * Reads a multipart form as PHP does (`main/rfc1867.c`), from chunks cut anywhere. Synchronous: each byte is looked at
 * once, but for a few around the ends of chunks, and nothing is kept but the fields of the sink and one part's head.
 *
 * The rules that differ from RFC 7578's: a value ends at a line feed, `--` and the boundary, whatever follows; a part begins
 * after a line that is `--` and the boundary alone, the closing line being no such line; so parts after the closing line are
 * read too.
 */
export class MultipartParser {
  readonly #sink: MultipartSink;
  readonly #limits: FormLimits;
  readonly #delimiter: Buffer;
  readonly #lineBuffer: number;
  #reading: Reading = "gap";
  /** What was not yet decided on. At first a line feed: a body begins with a line. */
  #kept: Buffer = newline;

  #head: string[] = [];
  #headBytes = 0;
  #parts: number;
  #fields = 0;
  #fieldBytes = 0;
  #files: number;
  #skipFiles = false;
  #nameless = 0;
  #maxFileSize = 0;

  #name = "";
  #value = new Gathered();
  #fileBytes = 0;

  constructor(boundary: string, limits: FormLimits, sink: MultipartSink) {
    this.#sink = sink;
    this.#limits = limits;
    this.#delimiter = Buffer.from(`\n--${boundary}`, "latin1");
    this.#lineBuffer = Math.max(lineBuffer, boundary.length + 6);
    this.#parts = partsAllowed(limits);
    this.#files = limits.maxFileUploads;
  }

  /** @throws `FORM_MALFORMED` (400), `FORM_TOO_LARGE` (413) */
  push(chunk: Uint8Array): void {
    if (this.#reading === "over") return;
    const view = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const bytes = this.#kept.length === 0 ? view : Buffer.concat([this.#kept, view]);
    this.#kept = nothing;
    for (let at = 0; at >= 0 && at < bytes.length;) at = this.#step(bytes, at);
  }

  /** The body has ended. */
  end(): void {
    if (this.#reading === "head") {
      // As PHP does it: a line that has no end is no line of the head, but what follows it.
      const rest = this.#kept;
      this.#kept = nothing;
      this.#headEnds();
      this.push(rest);
    }
    // The beginning of a delimiter at the end counts as one, a lone carriage return does not.
    if (this.#inData() && this.#kept.length === 1 && this.#kept[0] === cr) this.#take(this.#kept);
    if (this.#reading === "field") this.#fieldEnds();
    else if (this.#inFile()) this.#sink.fileEnd(3);
    this.#reading = "over";
  }

  #inData(): boolean {
    return this.#reading === "field" || this.#inFile();
  }

  #inFile(): boolean {
    return this.#reading === "file";
  }

  /** Where to go on, or -1: the rest is kept for the next chunk. */
  #step(bytes: Buffer, at: number): number {
    if (this.#reading === "gap") return this.#gap(bytes, at);
    if (this.#reading === "head") return this.#line(bytes, at);
    return this.#reading === "over" ? -1 : this.#data(bytes, at);
  }

  #keep(bytes: Buffer, from: number): -1 {
    // A copy, for a few bytes must not hold a whole chunk.
    if (from < bytes.length) this.#kept = Buffer.from(bytes.subarray(from));
    return -1;
  }

  #gap(bytes: Buffer, from: number): number {
    for (let at = from;;) {
      const found = this.#find(bytes, at);
      if (found < 0) return this.#keep(bytes, this.#partial(bytes, at));
      const after = found + this.#delimiter.length;
      const end = bytes[after] === cr ? after + 1 : after;
      if (end >= bytes.length) return this.#keep(bytes, found);
      if (bytes[end] === lf) {
        this.#reading = "head";
        this.#head = [];
        this.#headBytes = 0;
        return end + 1;
      }
      at = after;
    }
  }

  /** By its line feed: a runtime searches for one byte several times faster than for many, and no byte is compared twice. */
  #find(bytes: Buffer, from: number): number {
    const delimiter = this.#delimiter;
    const last = bytes.length - delimiter.length;
    for (let at = bytes.indexOf(lf, from); at >= 0 && at <= last; at = bytes.indexOf(lf, at + 1)) {
      let same = 1;
      while (same < delimiter.length && bytes[at + same] === delimiter[same]) same++;
      if (same === delimiter.length) return at;
    }
    return -1;
  }

  /** Where a delimiter begins that the next chunk may complete; the end when none does. It has one line feed, its first byte. */
  #partial(bytes: Buffer, from: number): number {
    const tail = Math.max(from, bytes.length - this.#delimiter.length + 1);
    const at = bytes.subarray(tail).lastIndexOf(lf);
    if (at < 0) return bytes.length;
    const rest = bytes.subarray(tail + at);
    return rest.equals(this.#delimiter.subarray(0, rest.length)) ? tail + at : bytes.length;
  }

  #line(bytes: Buffer, at: number): number {
    const window = bytes.subarray(at, at + this.#lineBuffer);
    const end = window.indexOf(lf);
    if (end < 0 && window.length < this.#lineBuffer) return this.#keep(bytes, at);
    const next = at + (end < 0 ? this.#lineBuffer : end + 1);
    this.#headBytes += next - at;
    if (this.#headBytes > maxHead) throw malformed(`the header of a part is over ${maxHead} bytes`);
    const stop = end < 0 ? next : window[end - 1] === cr ? next - 2 : next - 1;
    const line = untilNul(bytes.toString("latin1", at, stop));
    if (line !== "") {
      this.#head.push(line);
      return next;
    }
    this.#headEnds();
    // The line feed of the empty line may begin the delimiter of the next part.
    return this.#reading === "gap" && end >= 0 ? next - 1 : next;
  }

  #headEnds(): void {
    const head = partHead(this.#head);
    this.#head = [];
    this.#reading = "gap";
    if (!head.known) return;
    if (--this.#parts < 0 || (head.name === undefined && head.filename === undefined)) {
      this.#reading = "over";
      return;
    }
    if (head.filename === undefined) {
      this.#name = head.name!;
      this.#fields++;
      this.#reading = "field";
      return;
    }
    if (this.#files <= 0) this.#skipFiles = true;
    const name = head.name ?? String(this.#nameless++);
    // As PHP does it: after one file that is left out, all are.
    if (!this.#skipFiles && !balanced(name)) this.#skipFiles = true;
    if (this.#skipFiles) return;
    this.#sink.file(name, head.filename, head.mime);
    if (head.filename === "") {
      this.#sink.fileEnd(4);
      return;
    }
    this.#files--;
    this.#fileBytes = 0;
    this.#reading = "file";
  }

  #data(bytes: Buffer, at: number): number {
    const found = this.#find(bytes, at);
    const stop = found < 0 ? this.#partial(bytes, at) : found;
    // A carriage return belongs to the delimiter, if one follows.
    const end = stop > at && bytes[stop - 1] === cr ? stop - 1 : stop;
    if (end > at) this.#take(bytes.subarray(at, end));
    if (!this.#inData()) return end;
    if (found < 0) return this.#keep(bytes, end);
    if (this.#reading === "field") this.#fieldEnds();
    else this.#sink.fileEnd(0);
    this.#reading = "gap";
    return found;
  }

  #take(bytes: Uint8Array): void {
    if (this.#reading === "file") {
      this.#takeFile(bytes);
    } else if (this.#fields <= this.#limits.maxInputVars || isMaxFileSize(this.#name)) {
      this.#count(bytes.length);
      this.#value.add(bytes);
    }
  }

  #takeFile(bytes: Uint8Array): void {
    const { uploadMaxFilesize: max } = this.#limits;
    const total = this.#fileBytes + bytes.length;
    const error = max > 0 && total > max ? 1 : this.#maxFileSize !== 0 && total > this.#maxFileSize ? 2 : 0;
    if (error === 0) {
      this.#fileBytes = total;
      this.#sink.fileData(bytes);
      return;
    }
    this.#sink.fileEnd(error);
    this.#reading = "gap";
  }

  #fieldEnds(): void {
    const value = this.#value.take().toString("latin1");
    if (this.#fields <= this.#limits.maxInputVars) {
      this.#count(this.#name.length + fieldCost);
      this.#sink.field(this.#name, value);
    }
    if (isMaxFileSize(this.#name)) this.#maxFileSize = Number(/^\s*([+-]?\d+)/.exec(value)?.[1] ?? 0);
  }

  #count(bytes: number): void {
    const { maxFieldBytes } = this.#limits;
    if ((this.#fieldBytes += bytes) > maxFieldBytes) throw tooLarge("its fields are", "the limit", maxFieldBytes);
  }
}

function isMaxFileSize(name: string): boolean {
  return name.length === 13 && name.toUpperCase() === "MAX_FILE_SIZE";
}

export function untilNul(text: string): string {
  const nul = text.indexOf("\0");
  return nul < 0 ? text : text.slice(0, nul);
}

/** PHP takes a file only under a name whose brackets are closed and follow each other. */
function balanced(name: string): boolean {
  let open = 0;
  for (let i = 0; i < name.length; i++) {
    if (name[i] === "[") open++;
    else if (name[i] === "]") {
      open--;
      if (i + 1 < name.length && name[i + 1] !== "[") return false;
    }
    if (open < 0) return false;
  }
  return open === 0;
}
