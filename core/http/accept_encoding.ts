/** Content negotiation by `Accept-Encoding` (RFC 9110, 12.5.3). @module */

const ELEMENT = /^([!#$%&'*+\-.^_`|~\w]+)(?:[ \t]*;[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/i;

/** Weights by lower-case name; an element that is not well formed is passed over. */
function weights(header: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const element of header.split(",")) {
    const match = ELEMENT.exec(element.trim());
    if (!match) continue;
    const name = (match[1] as string).toLowerCase();
    found.set(name === "x-gzip" ? "gzip" : name, Number(match[2] ?? 1));
  }
  return found;
}

/**
 * Chooses among the encodings at hand (of those that the client likes equally, the first), or undefined for the content as it is:
 * when the client takes none of them, or asks for `identity` more than for any of them. A client that refuses everything gets the
 * content as it is.
 */
export function negotiate<E extends { readonly name: string }>(
  header: string | null,
  available: readonly E[],
): E | undefined {
  if (header === null || available.length === 0) return undefined;
  const weight = weights(header);
  const rest = weight.get("*") ?? 0;
  let best: E | undefined;
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
