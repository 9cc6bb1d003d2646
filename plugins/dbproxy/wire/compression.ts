import * as zlib from "node:zlib";
import { CoreError } from "../../../core/error.ts";

export type CompressionMethod = "zlib" | "zstd";

/** This runtime can do zstd. */
export const zstdSupported: boolean = typeof zlib.zstdCompressSync === "function" &&
  typeof zlib.zstdDecompressSync === "function";

/** @param level undefined: 6 for zlib and 3 for zstd, as the servers' */
export function deflate(method: CompressionMethod, bytes: Uint8Array, level?: number): Uint8Array {
  if (method === "zlib") return zlib.deflateSync(bytes, { level: level ?? 6 });
  return zlib.zstdCompressSync(bytes, { params: { [zlib.constants.ZSTD_c_compressionLevel]: level ?? 3 } });
}

/**
 * @param length what it must inflate to; not a byte more is unpacked
 * @throws CoreError `DB_PROTOCOL`
 */
export function inflate(method: CompressionMethod, bytes: Uint8Array, length: number): Uint8Array {
  let out: Uint8Array;
  try {
    const options = { maxOutputLength: length };
    out = method === "zlib" ? zlib.inflateSync(bytes, options) : zlib.zstdDecompressSync(bytes, options);
  } catch (cause) {
    throw new CoreError("DB_PROTOCOL", `A compressed packet does not inflate to the ${length} bytes it announced`, {
      cause,
    });
  }
  if (out.length === length) return out;
  throw new CoreError("DB_PROTOCOL", `A compressed packet inflated to ${out.length} bytes and not to ${length}`);
}
