/** Content negotiation over precompressed siblings (RFC 9110, 12.5.3). @module */

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

const ELEMENT = /^([!#$%&'*+\-.^_`|~\w]+)(?:[ \t]*;[ \t]*q=([01](?:\.\d{0,3})?))?$/i;

/** Weights by lower-case name; an element that is not well formed is passed over. */
function weights(header: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const element of header.split(",")) {
    const match = ELEMENT.exec(element.trim());
    if (!match) continue;
    const name = (match[1] as string).toLowerCase();
    found.set(name === "x-gzip" ? "gzip" : name, Math.min(1, Number(match[2] ?? 1)));
  }
  return found;
}

/**
 * Chooses among the encodings at hand, or undefined for the file as it is: when the client takes none of them, or
 * asks for `identity` more than for any of them. A client that refuses everything gets the file as it is.
 */
export function negotiate(header: string | null, available: readonly Encoding[]): Encoding | undefined {
  if (header === null || available.length === 0) return undefined;
  const weight = weights(header);
  const rest = weight.get("*") ?? 0;
  let best: Encoding | undefined;
  let bestWeight = weight.get("identity") ?? 0;
  for (const encoding of available) {
    const w = weight.get(encoding.name) ?? rest;
    if (w > 0 && (best === undefined ? w >= bestWeight : w > bestWeight)) {
      best = encoding;
      bestWeight = w;
    }
  }
  return best;
}
