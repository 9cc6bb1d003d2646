/** The encodings of precompressed siblings. @module */

export interface Encoding {
  /** As in `Content-Encoding`. */
  readonly name: "br" | "zstd" | "gzip";
  /** What the sibling's name ends with. */
  readonly suffix: ".br" | ".zst" | ".gz";
}

/** In order of our own preference: smallest first. */
export const encodings: readonly Encoding[] = [
  { name: "br", suffix: ".br" },
  { name: "zstd", suffix: ".zst" },
  { name: "gzip", suffix: ".gz" },
];
