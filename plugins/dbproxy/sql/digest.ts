/**
 * Normalised texts, as MySQL's `STATEMENT_DIGEST_TEXT()` makes them: literals are `?`, lists of them `?, ...`, rows `(...)`,
 * rows of rows `(...) /* , ... *\/`, `IN (...)` whatever its length; comments are gone, hints stay; identifiers in backticks,
 * keywords in upper case, columns given by number to ORDER BY and
 * GROUP BY kept; what goes beyond 1024 bytes of tokens is cut off.
 *
 * Where it differs from the server's: (1) several statements are one text here; (2) NULL becomes `?` by its neighbours (not
 * behind IS, NOT and a column's type), where the server asks its grammar; (3) MySQL 9's keywords are used for every
 * server, so that one text has one digest; (4) what is no SQL has a digest too: bytes that cannot be read end it; (5) the
 * hash is a short one of our own, not SHA-256.
 *
 * @module
 */
import { CLASS, SPACE } from "./chars.ts";
import { CHARSETS, FUNCTION_KEYWORDS, HINTS, KEYWORDS, SPELLED } from "./keywords.ts";
import {
  END,
  HINT,
  NAME,
  NUMBER,
  OPAQUE,
  QUOTED,
  Scanner,
  STRING,
  SYMBOL,
  SYSTEM_VARIABLE,
  USER_VARIABLE,
} from "./scanner.ts";
import type { SqlMode } from "./statement.ts";
import { identifier } from "./walk.ts";
import { MAX_WORDS, spellingOf, word, words } from "./words.ts";

export interface Digest {
  /** 16 hex digits. */
  readonly hash: string;
  readonly text: string;
}

/** Codes below this are characters, codes from KEYWORD on are words. */
const LESS_EQUAL = 128, GREATER_EQUAL = 129, NOT_EQUAL = 130, EQUAL_NULL = 131, BOTH = 132, EITHER = 133, LEFT = 134;
const RIGHT = 135, ARROW = 136, LONG_ARROW = 137, ASSIGN = 138, SYSTEM = 139, AT = 140, CHARSET = 141;
const VALUE = 142, LIST = 143, ROW = 144, ROWS = 145, TUPLE = 146, TUPLES = 147, IN_VALUES = 148, NAMED = 149;
const HINT_OPENS = 150, HINT_CLOSES = 151, NAMED_AT = 152, ORDINAL = 153;
const KEYWORD = 256;

const PRINTED: Readonly<Record<number, string>> = {
  [LESS_EQUAL]: "<= ",
  [GREATER_EQUAL]: ">= ",
  [NOT_EQUAL]: "!= ",
  [EQUAL_NULL]: "<=> ",
  [BOTH]: "&& ",
  [EITHER]: "|| ",
  [LEFT]: "<< ",
  [RIGHT]: ">> ",
  [ARROW]: "-> ",
  [LONG_ARROW]: "->> ",
  [ASSIGN]: ":= ",
  [SYSTEM]: "@@",
  [AT]: "@",
  [CHARSET]: "(_charset) ",
  [VALUE]: "? ",
  [LIST]: "?, ... ",
  [ROW]: "(?) ",
  [ROWS]: "(?) /* , ... */ ",
  [TUPLE]: "(...) ",
  [TUPLES]: "(...) /* , ... */ ",
  [IN_VALUES]: "IN (...) ",
  [HINT_OPENS]: "/*+ ",
  [HINT_CLOSES]: "*/ ",
};

const PLAIN = 1, CALLED = 2, INTRODUCER = 3;
const kinds = new Uint8Array(MAX_WORDS);
const spelled = new Uint16Array(MAX_WORDS).map((_, id) => id);
const hintWords = new Set(words(HINTS));
const startsExpression = new Set<number>("(,|&+-*/%^=<>".split("").map((char) => char.charCodeAt(0)));
for (const id of words(KEYWORDS)) kinds[id] = PLAIN;
for (const id of words(FUNCTION_KEYWORDS)) kinds[id] = CALLED;
for (const id of words(CHARSETS)) kinds[id] = INTRODUCER;
for (const pair of SPELLED.trim().split(/\s+/)) {
  const [from, to] = pair.split("=");
  spelled[word(from!)] = word(to!);
}
for (
  const id of words(
    "every at starts ends default return if elseif case when then else while until select or xor and not between like rlike interval div mod",
  )
) startsExpression.add(KEYWORD + id);
for (const code of [LESS_EQUAL, GREATER_EQUAL, NOT_EQUAL, EQUAL_NULL, BOTH, EITHER, LEFT, RIGHT]) {
  startsExpression.add(code);
}

const OPEN = 0x28, CLOSE = 0x29, COMMA = 0x2c, PLUS = 0x2b, MINUS = 0x2d, DOT = 0x2e, SEMICOLON = 0x3b, QUESTION = 0x3f;
const IN = KEYWORD + word("in"), IS = KEYWORD + word("is"), NOT = KEYWORD + word("not"), NULL = word("null");
const DEFAULT = KEYWORD + word("default");
const BY = KEYWORD + word("by");
const DEFINING = new Set(words("create alter"));
const LIMIT = 1024;

/** Tokens of the text that is being read; one text at a time. */
let codes = new Int32Array(256);
let starts = new Int32Array(256);
let ends = new Int32Array(256);
let count = 0;
/** What MySQL would count for them. */
let weight = 0;
let full = false;
let source: Uint8Array = new Uint8Array(0);
let defining = false;
/** Whether each open parenthesis is in a list of ORDER BY or GROUP BY. */
const ordering = new Uint8Array(256);
let depth = 0;
let pending = false;
let ordinal = 0;
const mark = (text: string) => {
  const table = new Uint8Array(MAX_WORDS);
  for (const id of words(text)) table[id] = 1;
  return table;
};
const endsList = mark("limit having select rows range groups separator union except intersect for into lock offset");
const endsOrdinal = mark(
  "limit having rows range groups separator union except intersect for into lock with asc desc order",
);
const scanner = new Scanner();
const inner = new Scanner();

function push(code: number, start = 0, end = 0): void {
  const bytes = code === NAMED || code === NAMED_AT ? 4 + end - start : 2;
  if (full || weight + bytes > LIMIT) {
    full = true;
    return;
  }
  if (count === codes.length) {
    const grow = (old: Int32Array) => {
      const larger = new Int32Array(old.length * 2);
      larger.set(old);
      return larger;
    };
    [codes, starts, ends] = [grow(codes), grow(starts), grow(ends)] as [typeof codes, typeof starts, typeof ends];
  }
  weight += bytes;
  codes[count] = code;
  starts[count] = start;
  ends[count++] = end;
}

function pop(tokens: number): void {
  count -= tokens;
  weight -= 2 * tokens;
}

function last(back: number): number {
  return count >= back ? codes[count - back]! : 0;
}

function value(number: boolean): void {
  if (number) {
    while ((last(1) === MINUS || last(1) === PLUS) && startsExpression.has(last(2))) pop(1);
  }
  if (last(1) === COMMA && (last(2) === VALUE || last(2) === LIST)) {
    pop(2);
    push(LIST);
  } else push(VALUE);
}

function close(): void {
  const single = last(1) === VALUE;
  if ((!single && last(1) !== LIST) || last(2) !== OPEN) return push(CLOSE);
  pop(2);
  if (last(1) === IN) {
    pop(1);
    return push(IN_VALUES);
  }
  const [row, rows] = single ? [ROW, ROWS] : [TUPLE, TUPLES];
  if (last(1) === COMMA && (last(2) === row || last(2) === rows)) {
    pop(2);
    push(rows);
  } else push(row);
}

function name(mode: SqlMode): void {
  const { word, start, end } = scanner;
  const dotted = last(1) === DOT && ends[count - 1] === start;
  if (!dotted) {
    if (word === NULL) {
      const before = last(1);
      if (before !== IS && before !== NOT && (!defining || before === DEFAULT)) return value(false);
    }
    const kind = kinds[word];
    if (kind === INTRODUCER) return push(CHARSET);
    if (word === BY - KEYWORD) ordering[depth] = 1;
    else if (endsList[word] === 1) ordering[depth] = 0;
    if (kind === PLAIN || (kind === CALLED && called(end, mode))) return push(KEYWORD + spelled[word]!);
  }
  push(NAMED, start, end);
}

function called(at: number, mode: SqlMode): boolean {
  if (mode.ignoreSpace) { while (CLASS[source[at] ?? 0] === SPACE) at++; }
  return source[at] === OPEN;
}

function operator(): number {
  const length = scanner.end - scanner.start;
  const code = scanner.code;
  if (length === 1) return code;
  switch (code) {
    case 0x3c: // <
      if (length === 3) return EQUAL_NULL;
      return source[scanner.start + 1] === 0x3d ? LESS_EQUAL : source[scanner.start + 1] === 0x3e ? NOT_EQUAL : LEFT;
    case 0x3e: // >
      return source[scanner.start + 1] === 0x3d ? GREATER_EQUAL : RIGHT;
    case 0x21: // !
      return NOT_EQUAL;
    case 0x7c: // |
      return EITHER;
    case 0x26: // &
      return BOTH;
    case MINUS:
      return length === 3 ? LONG_ARROW : ARROW;
    default:
      return ASSIGN;
  }
}

function hint(mode: SqlMode): void {
  const from = scanner.start + 3;
  push(HINT_OPENS);
  inner.reset(source.subarray(from, scanner.end - 2), mode);
  for (let kind = inner.next(); kind !== END && kind !== OPAQUE; kind = inner.next()) {
    const [start, end] = [from + inner.start, from + inner.end];
    if (kind === NAME && hintWords.has(inner.word)) push(KEYWORD + inner.word);
    else if (kind === NAME || kind === QUOTED) push(source[end] === 0x40 ? NAMED_AT : NAMED, start, end);
    else if (kind === USER_VARIABLE) {
      push(AT);
      push(NAMED, start + 1, end);
    } else if (kind === NUMBER || kind === STRING) value(false);
    else if (inner.code === CLOSE) close();
    else push(inner.code);
  }
  push(HINT_CLOSES);
}

function read(sql: Uint8Array, mode: SqlMode): void {
  source = sql;
  count = weight = 0;
  full = defining = false;
  depth = 0;
  ordering[0] = 0;
  pending = false;
  scanner.reset(sql, mode);
  for (let kind = scanner.next(); kind !== END && !full; kind = scanner.next()) {
    if (pending) settle(kind);
    switch (kind) {
      case NAME:
        if (count === 0) defining = DEFINING.has(scanner.word);
        name(mode);
        break;
      case QUOTED:
        push(NAMED, scanner.start, scanner.end);
        break;
      case STRING:
        value(false);
        break;
      case NUMBER:
        number(sql);
        break;
      case USER_VARIABLE: {
        push(AT);
        const quote = sql[scanner.start + 1];
        if (quote === 0x60 || (quote === 0x22 && mode.ansiQuotes)) push(NAMED, scanner.start + 1, scanner.end);
        else value(false);
        break;
      }
      case SYSTEM_VARIABLE:
        push(SYSTEM);
        break;
      case HINT:
        hint(mode);
        break;
      case OPAQUE:
        if (!scanner.high) {
          full = true;
          break;
        }
        high();
        break;
      default:
        if (scanner.code === CLOSE) {
          if (depth > 0) depth--;
          close();
        } else if (scanner.code === OPEN) {
          if (depth < ordering.length - 1) depth++;
          ordering[depth] = 0;
          push(OPEN);
        } else if (scanner.code === QUESTION) value(false);
        else push(operator(), 0, scanner.end);
    }
  }
  if (pending && !full) settle(END);
  while (last(1) === SEMICOLON) pop(1);
}

/** A number that stands alone in ORDER BY or GROUP BY names a column: it stays. */
function settle(kind: number): void {
  pending = false;
  const alone = kind === END || (kind === NAME && endsOrdinal[scanner.word] === 1) ||
    (kind === SYMBOL && (scanner.code === COMMA || scanner.code === CLOSE || scanner.code === SEMICOLON));
  if (alone && last(1) === VALUE) {
    codes[count - 1] = ORDINAL;
    starts[count - 1] = ordinal;
  }
}

function number(sql: Uint8Array): void {
  const before = last(1);
  value(true);
  if (last(1) !== VALUE || (before !== BY && (before !== COMMA || ordering[depth] === 0))) return;
  if (scanner.end - scanner.start > 9) return;
  ordinal = 0;
  for (let at = scanner.start; at < scanner.end; at++) {
    const digit = sql[at]! - 0x30;
    if (digit < 0 || digit > 9) return;
    ordinal = ordinal * 10 + digit;
  }
  pending = true;
}

/** Letters beyond ASCII make an identifier here, whatever they are in the session's charset. */
function high(): void {
  const [start, end] = scanner.wholeWord();
  push(NAMED, start, end);
}

let high1 = 0;
let high2 = 0;

function hash(): void {
  let a = 0x2545f491 ^ count;
  let b = full ? 0x27d4eb2f : 0x165667b1;
  for (let i = 0; i < count; i++) {
    const code = codes[i]!;
    a = Math.imul(((a << 5) | (a >>> 27)) ^ code, 0x9e3779b1);
    b = Math.imul(((b << 7) | (b >>> 25)) + code, 0x85ebca77);
    if (code === ORDINAL) {
      a = Math.imul(a ^ starts[i]!, 0x9e3779b1);
      b = Math.imul(b + starts[i]!, 0x85ebca77);
      continue;
    }
    if (code !== NAMED && code !== NAMED_AT) continue;
    let [start, end] = [starts[i]!, ends[i]!];
    const quote = source[start];
    if (quote === 0x60 || quote === 0x22) [start, end] = [start + 1, end - 1];
    for (; start < end; start++) {
      const byte = source[start]!;
      a = Math.imul(((a << 5) | (a >>> 27)) ^ byte, 0x9e3779b1);
      b = Math.imul(((b << 7) | (b >>> 25)) + byte, 0x85ebca77);
    }
  }
  a = Math.imul(a ^ (a >>> 16) ^ (b >>> 11), 0x7feb352d);
  b = Math.imul(b ^ (b >>> 15) ^ (a >>> 13), 0x846ca68b);
  high1 = (a ^ (a >>> 16)) >>> 0;
  high2 = (b ^ (b >>> 16)) >>> 0;
}

function text(): string {
  let out = "";
  for (let i = 0; i < count; i++) {
    const code = codes[i]!;
    if (code >= KEYWORD) out += spellingOf(code - KEYWORD).toUpperCase() + " ";
    else if (code === NAMED) out += "`" + identifier(source, starts[i]!, ends[i]!) + "` ";
    else if (code === NAMED_AT) out += "`" + identifier(source, starts[i]!, ends[i]!) + "`";
    else if (code === ORDINAL) out += starts[i]! + " ";
    else out += PRINTED[code] ?? String.fromCharCode(code) + " ";
  }
  return out.trimEnd();
}

/** The normalised text. */
export function digestText(sql: Uint8Array, mode: SqlMode): string {
  read(sql, mode);
  return text();
}

const CAPACITY = 5000;
/** By the hash's first half; collisions of that half share a short list. */
const known = new Map<number, { second: number; digest: Digest }[]>();
let size = 0;

/** The normalised text and its hash; the text is made only the first time a hash is seen. */
export function digestOf(sql: Uint8Array, mode: SqlMode): Digest {
  read(sql, mode);
  hash();
  const [first, second] = [high1, high2];
  const list = known.get(first);
  if (list) { for (const entry of list) if (entry.second === second) return entry.digest; }
  const hex = (half: number) => half.toString(16).padStart(8, "0");
  const digest = { hash: hex(first) + hex(second), text: text() };
  if (size++ >= CAPACITY) {
    known.clear();
    size = 1;
  }
  if (list && size > 1) list.push({ second, digest });
  else known.set(first, [{ second, digest }]);
  return digest;
}
