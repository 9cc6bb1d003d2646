/**
 * Of a text that is too long to be read whole: what its first words rule out.
 *
 * @module
 */
import { NAME, Scanner, SYMBOL } from "./scanner.ts";
import type { SqlMode } from "./statement.ts";
import { words } from "./words.ts";

const OPEN = 0x28;
/** They write and read rows, whatever follows. */
const ROWS: ReadonlySet<number> = new Set(words("select with insert replace update delete"));
const scanner = new Scanner();

/**
 * Whether a text that begins with `head` may change what others rely on (`changesCatalogue` of a `Statement`). With
 * multi-statements on nothing can be said: another statement may come behind the head.
 *
 * False says nothing of what the text does to its own session.
 */
export function headChangesCatalogue(head: Uint8Array, mode: SqlMode, multiStatements: boolean): boolean {
  if (multiStatements || mode.unsafeCharset) return true;
  scanner.reset(head, mode);
  while (scanner.next() === SYMBOL && scanner.code === OPEN);
  return scanner.kind !== NAME || !ROWS.has(scanner.word) || scanner.versioned;
}
