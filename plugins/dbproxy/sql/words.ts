/**
 * Words known by number: a table from the bytes of a word, in any case, to a small integer, without making a string.
 *
 * @module
 */
import { LOWER } from "./chars.ts";

/** Numbers are less than this. */
export const MAX_WORDS = 4096;
const SLOTS = 2 * MAX_WORDS;
const slots = new Int32Array(SLOTS);
const spellings: string[] = [""];
let bytes = new Uint8Array(32 * 1024);
let used = 0;
const starts: number[] = [0];
const lengths: number[] = [0];

/** The hash that {@linkcode wordAt} expects, one byte more. */
export function hashStep(hash: number, lower: number): number {
  return Math.imul(hash ^ lower, 0x01000193);
}
export const HASH_START: number = 0x811c9dc5 | 0;

function slotOf(hash: number): number {
  return (hash ^ (hash >>> 15)) & (SLOTS - 1);
}

/** The number of an ASCII word; a new one gets the next. Only while modules load. */
export function word(spelling: string): number {
  const lower = spelling.toLowerCase();
  let hash = HASH_START;
  for (let i = 0; i < lower.length; i++) hash = hashStep(hash, lower.charCodeAt(i));
  let slot = slotOf(hash);
  for (; slots[slot] !== 0; slot = (slot + 1) & (SLOTS - 1)) {
    if (spellings[slots[slot]!] === lower) return slots[slot]!;
  }
  const id = spellings.length;
  if (id >= MAX_WORDS) throw new Error("The table of SQL words is full: enlarge SLOTS");
  if (used + lower.length > bytes.length) {
    const larger = new Uint8Array(bytes.length * 2);
    larger.set(bytes);
    bytes = larger;
  }
  slots[slot] = id;
  spellings.push(lower);
  starts.push(used);
  lengths.push(lower.length);
  for (let i = 0; i < lower.length; i++) bytes[used++] = lower.charCodeAt(i);
  return id;
}

/** Several words of a text parted by space. */
export function words(text: string): number[] {
  return text.trim().split(/\s+/).map(word);
}

/** Lower case. */
export function spellingOf(id: number): string {
  return spellings[id] ?? "";
}

/** How many numbers are given out, 0 ("unknown") included. */
export function wordCount(): number {
  return spellings.length;
}

/** The number of the word in `text[start..end)` whose hash over lower-cased bytes is `hash`; 0 where it is unknown. */
export function wordAt(text: Uint8Array, start: number, end: number, hash: number): number {
  const length = end - start;
  search: for (let slot = slotOf(hash);; slot = (slot + 1) & (SLOTS - 1)) {
    const id = slots[slot]!;
    if (id === 0) return 0;
    if (lengths[id] !== length) continue;
    const from = starts[id]!;
    for (let i = 0; i < length; i++) if (bytes[from + i] !== LOWER[text[start + i]!]) continue search;
    return id;
  }
}
