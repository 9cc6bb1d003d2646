/** The encodings that bodies can be compressed to while they are sent, by the runtime's zlib. @module */
import * as zlib from "node:zlib";

/** What compresses one body as it comes. */
export type Squeezer = zlib.Gzip | zlib.BrotliCompress | zlib.ZstdCompress;

export type EncodingName = "zstd" | "br" | "gzip";

/** One encoding, with a level. */
export interface Encoder {
  /** As in `Content-Encoding`. */
  readonly name: EncodingName;
  /** The flush that gives out all bytes so far. */
  readonly flush: number;
  /** Compresses a whole body off the main thread. */
  whole(bytes: Uint8Array): Promise<Uint8Array<ArrayBuffer>>;
  /** Compresses a body piece by piece. */
  stream(): Squeezer;
}

const c = zlib.constants;
type Done = (error: Error | null, result: Uint8Array) => void;

function off(run: (done: Done) => void): Promise<Uint8Array<ArrayBuffer>> {
  return new Promise((resolve, reject) =>
    run((error, result) => error === null ? resolve(result as Uint8Array<ArrayBuffer>) : reject(error))
  );
}

function gzip(level: number): Encoder {
  return {
    name: "gzip",
    flush: c.Z_SYNC_FLUSH,
    whole: (bytes) => off((done) => zlib.gzip(bytes, { level }, done)),
    stream: () => zlib.createGzip({ level }),
  };
}

function brotli(level: number): Encoder {
  // A window of 512 KB instead of 4 MB: many bodies are compressed at once, and few are longer.
  const params = { [c.BROTLI_PARAM_QUALITY]: level, [c.BROTLI_PARAM_LGWIN]: 19 };
  return {
    name: "br",
    flush: c.BROTLI_OPERATION_FLUSH,
    whole: (bytes) => off((done) => zlib.brotliCompress(bytes, { params }, done)),
    stream: () => zlib.createBrotliCompress({ params }),
  };
}

function zstd(level: number): Encoder {
  // The same window; clients need not take more than 8 MB (RFC 9659).
  const params = { [c.ZSTD_c_compressionLevel]: level, [c.ZSTD_c_windowLog]: 19 };
  return {
    name: "zstd",
    flush: c.ZSTD_e_flush,
    whole: (bytes) => off((done) => zlib.zstdCompress(bytes, { params }, done)),
    stream: () => zlib.createZstdCompress({ params }),
  };
}

/** The encoder of that name. */
export function encoder(name: EncodingName, level: number): Encoder {
  return name === "gzip" ? gzip(level) : name === "br" ? brotli(level) : zstd(level);
}
