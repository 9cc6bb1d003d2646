/** Which of a file and its precompressed siblings is sent, and how it is recognised. @module */
import { closeSync, existsSync, type Stats, statSync } from "node:fs";
import { negotiate } from "../../core/http/accept_encoding.ts";
import type { Validators } from "./conditions.ts";
import { type Encoding, encodings } from "./encoding.ts";
import type { OpenFile, Roots } from "./roots.ts";

/** A file chosen to be sent. Whoever receives it closes `file.fd`. */
export interface Variant extends Validators {
  readonly file: OpenFile;
  readonly encoding: Encoding | undefined;
  /** Whether another `Accept-Encoding` would have chosen another file. */
  readonly varies: boolean;
}

const milliseconds = (file: OpenFile): number => Number(file.mtime / 1_000_000n);

/** Names the bytes by when they were written and how many they are; each encoding is other bytes. */
function describe(file: OpenFile, encoding: Encoding | undefined, varies: boolean, now: number): Variant {
  const variant = encoding ? `-${encoding.name}` : "";
  // A date in the future must not be sent (RFC 9110, 8.8.2.1).
  const modified = Math.min(milliseconds(file), now);
  return {
    file,
    encoding,
    varies,
    etag: `"${file.mtime.toString(36)}-${file.size.toString(36)}${variant}"`,
    lastModified: modified - (modified % 1000),
  };
}

/** The file as it is. */
export function plain(file: OpenFile, now: number): Variant {
  return describe(file, undefined, false, now);
}

/**
 * Chooses among the file and its siblings that are at least as new. Takes over `file`: its descriptor is closed when
 * a sibling is chosen.
 */
export function choose(roots: Roots, path: string, file: OpenFile, accept: string | null, now: number): Variant {
  const fresh = encodings.filter(({ suffix }) => {
    if (!existsSync(path + suffix)) return false;
    const stat: Stats | undefined = statSync(path + suffix, { throwIfNoEntry: false });
    return stat !== undefined && stat.isFile() && Math.floor(stat.mtimeMs) >= milliseconds(file);
  });
  const encoding = negotiate(accept, fresh);
  if (encoding !== undefined) {
    const sibling = roots.open(path + encoding.suffix);
    if (sibling !== undefined && sibling !== "folder") {
      closeSync(file.fd);
      return describe(sibling, encoding, true, now);
    }
  }
  return describe(file, undefined, fresh.length > 0, now);
}
