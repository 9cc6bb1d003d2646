/**
 * The candidate a misspelt word most likely means, or undefined when none is close. Case, `-` and `_` do not count.
 *
 * @example
 * ```ts
 * nearest("max_que", ["max_queue", "timeout"]); // "max_queue"
 * ```
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  let least = Math.min(2, Math.floor((word.length + 1) / 3)) + 1;
  for (const candidate of candidates) {
    const far = distance(plain(word), plain(candidate));
    if (far < least) [best, least] = [candidate, far];
  }
  return best;
}

const plain = (word: string) => word.toLowerCase().replace(/[-_]/g, "");

/** Damerau-Levenshtein, restricted: insertions, deletions, substitutions and swaps of neighbours. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      row[j] = Math.min(change, last[j]! + 1, row[j - 1]! + 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) row[j] = Math.min(row[j]!, before[j - 2]! + 1);
    }
    [before, last] = [last, row];
  }
  return last[b.length]!;
}
