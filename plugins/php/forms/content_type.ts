import { malformed } from "./limits.ts";

/** What a body is, by its `Content-Type`. */
export type BodyType =
  | { readonly type: "urlencoded" }
  | { readonly type: "multipart"; readonly boundary: string }
  | { readonly type: "other" };

/**
 * Reads `Content-Type` as PHP does: the type ends at the first `;`, `,` or space; the boundary follows the first `=` after
 * the word, and ends at the next `"` when it is quoted, else at `,` or `;`.
 *
 * @throws `FORM_MALFORMED` (400) for a multipart form without a boundary, where PHP would see no form at all.
 */
export function bodyType(contentType: string): BodyType {
  const type = contentType.split(/[;, ]/, 1)[0]!.toLowerCase();
  if (type === "application/x-www-form-urlencoded") return { type: "urlencoded" };
  if (type !== "multipart/form-data") return { type: "other" };
  return { type: "multipart", boundary: boundaryOf(contentType) };
}

function boundaryOf(contentType: string): string {
  const exact = contentType.indexOf("boundary");
  const word = exact >= 0 ? exact : contentType.toLowerCase().indexOf("boundary");
  const equals = word < 0 ? -1 : contentType.indexOf("=", word);
  if (equals < 0) throw malformed("its Content-Type names no boundary; send the one the body was written with");
  const rest = contentType.slice(equals + 1);
  const boundary = rest.startsWith('"') ? quoted(rest) : rest.split(/[,;]/, 1)[0]!;
  if (boundary === "") throw malformed("the boundary in its Content-Type is empty");
  return boundary;
}

function quoted(rest: string): string {
  const end = rest.indexOf('"', 1);
  if (end < 0) throw malformed("the boundary in its Content-Type has no closing quote");
  return rest.slice(1, end);
}
