/** Byte ranges (RFC 9110, 14). @module */

/** Bytes from `start` up to but not including `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** More parts than any player or viewer asks for. */
export const MAX_RANGES = 32;

const SPEC = /^(\d*)-(\d*)$/;

/**
 * Reads a `Range` header.
 *
 * `whole` means: answer as if there were no such header. That is so for other units, for what is not well formed, for
 * an empty file, and for sets that cost more than they save: more than {@linkcode MAX_RANGES} ranges, or ranges that overlap.
 *
 * @returns the ranges that can be satisfied, in the order asked for; `unsatisfiable` when none can
 */
export function parseRange(header: string, size: number): readonly Span[] | "whole" | "unsatisfiable" {
  const equals = header.indexOf("=");
  if (equals < 0 || header.slice(0, equals).trim().toLowerCase() !== "bytes" || size === 0) return "whole";
  // An attacker may send thousands; what is not looked at costs nothing.
  const specs = header.slice(equals + 1).split(",", 4 * MAX_RANGES);
  const spans: Span[] = [];
  let asked = 0;
  for (const spec of specs) {
    const text = spec.trim();
    if (text === "") continue;
    if (++asked > MAX_RANGES) return "whole";
    const match = SPEC.exec(text);
    if (match === null || text === "-") return "whole";
    const first = match[1] as string;
    const last = match[2] as string;
    if (first === "") {
      const start = Math.max(0, size - Number(last));
      if (start < size) spans.push({ start, end: size });
      continue;
    }
    if (last !== "" && Number(last) < Number(first)) return "whole";
    const start = Number(first);
    const end = last === "" ? size : Math.min(size, Number(last) + 1);
    if (start < size) spans.push({ start, end });
  }
  if (asked === 0 || specs.length === 4 * MAX_RANGES) return "whole";
  if (spans.length === 0) return "unsatisfiable";
  return overlap(spans) ? "whole" : spans;
}

function overlap(spans: readonly Span[]): boolean {
  if (spans.length === 1) return false;
  const sorted = spans.toSorted((a, b) => a.start - b.start);
  return sorted.some((span, i) => i > 0 && span.start < (sorted[i - 1] as Span).end);
}
