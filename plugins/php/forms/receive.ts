/**
 * Receives a request body before any worker is taken: in memory, in a file, or, when it is a form, taken apart. A slow client
 * occupies no worker, and what is cut short, too large or no form is refused without one.
 *
 * @module
 */
import type { RequestBody } from "../worker/body.ts";
import { bodyType } from "./content_type.ts";
import { Gathered } from "./gathered.ts";
import { type FormLimits, phpLimits, tooLarge } from "./limits.ts";
import { MultipartParser } from "./multipart.ts";
import { SpoolFile, type SpoolPlace } from "./spool_file.ts";
import { Uploads } from "./uploads.ts";
import { urlencodedParts } from "./urlencoded.ts";
import { once, onDisk } from "../on_disk.ts";

export interface ReceiveOptions extends SpoolPlace {
  /** A body that is no form stays in memory up to this size (bytes). */
  readonly memory: number;
  /** Whether forms are taken apart; else every body is bytes. PHP does so for `POST` alone, RoadRunner for every method. */
  readonly forms?: boolean;
  /** PHP's own defaults for what is absent. */
  readonly limits?: Partial<FormLimits>;
}

export interface ReceivedRequest {
  readonly body: RequestBody;
  /** Deletes its files, but those PHP has moved away. Idempotent; the disk does it later. */
  dispose(): void;
}

/** What each kind of body is received by. */
interface Taker {
  /** May ask to wait for the disk before more is pushed. */
  push(chunk: Uint8Array): Promise<void> | undefined;
  end(): Promise<RequestBody>;
  /** Deletes its files. Never rejects. */
  remove(): Promise<void>;
}

/** Structural: the runtimes' types of readers differ. */
interface Source {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array }>;
  cancel(reason: unknown): Promise<void>;
}

/**
 * Reads `stream` to its end. Memory is flat: a chunk is on disk before the next is read, and only fields and small bodies
 * are kept.
 *
 * @param headers for `Content-Type`
 * @throws the stream's own errors; `FORM_MALFORMED` (400), `FORM_TOO_LARGE` (413); `BODY_UNSPOOLED` (503) when the disk does
 * not take a body that is no form. Nothing more is read then, and no file is left. A disk that does not take an upload is told
 * to the application, as PHP does (error 6 or 7 of the part).
 */
export async function receiveRequest(
  stream: ReadableStream<Uint8Array>,
  headers: { get(name: string): string | null },
  options: ReceiveOptions,
): Promise<ReceivedRequest> {
  const source = stream.getReader() as Source;
  let taker: Taker | undefined;
  try {
    taker = takerFor(headers.get("content-type") ?? "", options);
    for (let r = await source.read(); !r.done; r = await source.read()) {
      const wait = taker.push(r.value!);
      if (wait !== undefined) await wait;
    }
    const body = await taker.end();
    return { body, dispose: once(() => void taker!.remove()) };
  } catch (error) {
    source.cancel(error).catch(() => {});
    await taker?.remove();
    throw error;
  }
}

function takerFor(contentType: string, options: ReceiveOptions): Taker {
  const limits = { ...phpLimits, ...options.limits };
  const as = options.forms === false ? { type: "other" } as const : bodyType(contentType);
  if (as.type === "urlencoded") return new UrlencodedTaker(limits);
  return as.type === "multipart" ? new MultipartTaker(as.boundary, limits, options) : new BytesTaker(options);
}

class BytesTaker implements Taker {
  readonly #options: ReceiveOptions;
  #memory = new Gathered();
  #file: SpoolFile | undefined;

  constructor(options: ReceiveOptions) {
    this.#options = options;
  }

  push(chunk: Uint8Array): Promise<void> | undefined {
    if (this.#file !== undefined) return onDisk(this.#file.write(chunk));
    this.#memory.add(chunk);
    return this.#memory.length > this.#options.memory ? onDisk(this.#toFile()) : undefined;
  }

  async #toFile(): Promise<void> {
    this.#file = await SpoolFile.create("body", this.#options);
    await this.#file.write(this.#memory.take());
  }

  async end(): Promise<RequestBody> {
    if (this.#file === undefined) return { kind: "bytes", bytes: this.#memory.take() };
    await onDisk(this.#file.close());
    return { kind: "file", path: this.#file.path, length: this.#file.length };
  }

  async remove(): Promise<void> {
    await this.#file?.remove();
  }
}

class UrlencodedTaker implements Taker {
  readonly #limits: FormLimits;
  readonly #raw = new Gathered();

  constructor(limits: FormLimits) {
    this.#limits = limits;
  }

  push(chunk: Uint8Array): undefined {
    const { maxFieldBytes, postMaxSize } = this.#limits;
    const length = this.#raw.length + chunk.byteLength;
    if (postMaxSize > 0 && length > postMaxSize) throw tooLarge("it is", "post_max_size", postMaxSize);
    if (length > maxFieldBytes) throw tooLarge("its fields are", "the limit", maxFieldBytes);
    this.#raw.add(chunk);
  }

  async end(): Promise<RequestBody> {
    const raw = this.#raw.take();
    const parts = urlencodedParts(raw, this.#limits.maxInputVars);
    return { kind: "form", type: "urlencoded", parts, raw, length: raw.length };
  }

  async remove(): Promise<void> {}
}

class MultipartTaker implements Taker {
  readonly #limits: FormLimits;
  readonly #uploads: Uploads;
  readonly #parser: MultipartParser;
  #length = 0;

  constructor(boundary: string, limits: FormLimits, place: SpoolPlace) {
    this.#limits = limits;
    this.#uploads = new Uploads(place);
    this.#parser = new MultipartParser(boundary, limits, this.#uploads);
  }

  push(chunk: Uint8Array): Promise<void> | undefined {
    const { postMaxSize } = this.#limits;
    this.#length += chunk.byteLength;
    if (postMaxSize > 0 && this.#length > postMaxSize) throw tooLarge("it is", "post_max_size", postMaxSize);
    this.#parser.push(chunk);
    return this.#uploads.flush();
  }

  async end(): Promise<RequestBody> {
    this.#parser.end();
    await this.#uploads.flush();
    return { kind: "form", type: "multipart", parts: this.#uploads.parts, raw: undefined, length: this.#length };
  }

  remove(): Promise<void> {
    return this.#uploads.remove();
  }
}
