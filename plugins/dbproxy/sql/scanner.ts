/**
 * The lexer of MySQL and MariaDB over bytes: tokens without copies, comments skipped, executable comments opened.
 *
 * Written after what the servers do (their lexical scanner is sql/sql_lex.cc in both): a number may end where a word begins
 * (`1e5INTO`), a word may begin with a digit, `--` opens a comment only before a space or a control character, comments do
 * not nest but for one level inside an executable comment that is skipped. What cannot be known without the charset, or is an
 * error for the server too, is {@linkcode OPAQUE} and ends the scan.
 *
 * @module
 */
import { CLASS, DIGIT, HIGH, isDigit, isHexDigit, isWordByte, LOWER, OPERATOR, QUOTE, SPACE, WORD } from "./chars.ts";
import type { SqlMode } from "./statement.ts";
import { HASH_START, MAX_WORDS, wordAt, words } from "./words.ts";

export const END = 0;
/** An unquoted identifier or keyword; {@linkcode Scanner.word} is its number. */
export const NAME = 1;
/** An identifier in backticks, or in double quotes under ANSI_QUOTES. */
export const QUOTED = 2;
export const STRING = 3;
export const NUMBER = 4;
/** {@linkcode Scanner.code} is the operator's first byte; `end - start` its length. */
export const SYMBOL = 5;
/** `@name`, `@'name'`: the whole of it. */
export const USER_VARIABLE = 6;
/** `@@`; the name follows. */
export const SYSTEM_VARIABLE = 7;
/** The whole of an optimizer hint behind SELECT, INSERT, REPLACE, UPDATE or DELETE (MySQL only). */
export const HINT = 8;
export const OPAQUE = 9;

const hintable = new Uint8Array(MAX_WORDS);
for (const id of words("select insert replace update delete")) hintable[id] = 1;

const LF = 0x0a, BANG = 0x21, DOUBLE = 0x22, HASH = 0x23, DOLLAR = 0x24, SINGLE = 0x27, STAR = 0x2a, PLUS = 0x2b;
const MINUS = 0x2d, DOT = 0x2e, SLASH = 0x2f, COLON = 0x3a, LESS = 0x3c, EQUAL = 0x3d, GREATER = 0x3e, AT = 0x40;
const BACKSLASH = 0x5c, BACKTICK = 0x60, PIPE = 0x7c, AMPERSAND = 0x26, DELETE = 0x7f;
const LOWER_B = 0x62, LOWER_E = 0x65, LOWER_N = 0x6e, LOWER_X = 0x78, UPPER_M = 0x4d;

export class Scanner {
  kind: number = END;
  start: number = 0;
  end: number = 0;
  word: number = 0;
  code: number = 0;
  /** Of an OPAQUE token: it is only that a byte of 0x80 or more stands outside quotes. */
  high: boolean = false;
  /** An executable comment of the text was skipped or opened. */
  versioned: boolean = false;

  #sql: Uint8Array = new Uint8Array(0);
  #ansiQuotes = false;
  #escapes = true;
  #mariadb = false;
  #version = 0;
  #executable = false;
  #hintable = false;
  /** Whether the last token was a dot: what follows is a name whatever it looks like. */
  #dotted = false;
  /** Where the token before ended. */
  #before = 0;

  reset(sql: Uint8Array, mode: SqlMode): void {
    this.#sql = sql;
    this.#ansiQuotes = mode.ansiQuotes;
    this.#escapes = !mode.noBackslashEscapes;
    this.#mariadb = mode.server === "mariadb";
    this.#version = mode.version;
    this.#executable =
      this.#hintable =
      this.#dotted =
      this.versioned =
      this.high =
        false;
    this.kind = END;
    this.start =
      this.end =
      this.word =
      this.code =
      this.#before =
        0;
  }

  /** The next token's kind. After END and OPAQUE it stays where it is. */
  next(): number {
    const sql = this.#sql;
    const length = sql.length;
    if (this.kind === OPAQUE) return OPAQUE;
    this.word = 0;
    let at = this.#before = this.end;
    const mayHint = this.#hintable;
    const dotted = this.#dotted;
    this.#hintable = this.#dotted = false;
    if (mayHint && !this.#mariadb) {
      let look = at;
      while (look < length && CLASS[sql[look]!] === SPACE) look++;
      if (sql[look] === SLASH && sql[look + 1] === STAR && sql[look + 2] === PLUS) return this.#hint(look);
    }
    while (at < length) {
      const byte = sql[at]!;
      switch (CLASS[byte]) {
        case SPACE:
          at++;
          continue;
        case WORD:
          return this.#name(at);
        case DIGIT:
          return dotted && at === this.end ? this.#name(at) : this.#number(at);
        case QUOTE:
          return this.#quote(at, at);
        case OPERATOR: {
          const second = sql[at + 1];
          if (byte === HASH) {
            at = this.#line(at + 1);
            continue;
          }
          if (byte === MINUS && second === MINUS) {
            const third = sql[at + 2];
            if (third === undefined || third <= 0x20) {
              at = this.#line(at + 2);
              continue;
            }
            // In some charsets a comment, in others two minus signs.
            if (third === DELETE || third >= 0x80) return this.#opaque(at, false);
          }
          if (byte === SLASH && second === STAR) {
            at = this.#comment(at);
            if (at < 0) return this.#opaque(-at - 1, false);
            continue;
          }
          if (byte === STAR && second === SLASH && this.#executable) {
            this.#executable = false;
            at += 2;
            continue;
          }
          if (byte === DOT && isDigit(second) && !this.#follows(at)) return this.#fraction(at, at);
          return this.#symbol(at, byte, second);
        }
        default:
          return this.#opaque(at, CLASS[byte] === HIGH);
      }
    }
    this.start = this.end = at;
    // The server wants the end of an executable comment.
    if (this.#executable) return this.#opaque(at, false);
    return this.kind = END;
  }

  /** A dot right behind a name parts it from the next, even where a digit follows. */
  #follows(at: number): boolean {
    return at > 0 && at === this.end && (this.kind === NAME || this.kind === QUOTED);
  }

  #opaque(at: number, high: boolean): number {
    this.start = at;
    this.end = this.#sql.length;
    this.high = high;
    return this.kind = OPAQUE;
  }

  /**
   * Behind an OPAQUE token that only is {@linkcode Scanner.high}: takes it and the letters around it as one name and goes on.
   * Returns where the name starts and ends.
   */
  wholeWord(): readonly [start: number, end: number] {
    const sql = this.#sql;
    const wordly = (byte: number | undefined) => isWordByte(byte) || (byte ?? 0) >= 0x80;
    let start = this.start;
    let end = this.start;
    while (start > this.#before && wordly(sql[start - 1])) start--;
    while (wordly(sql[end])) end++;
    this.start = start;
    this.end = end;
    this.kind = NAME;
    return [start, end];
  }

  #line(at: number): number {
    const end = this.#sql.indexOf(LF, at);
    return end < 0 ? this.#sql.length : end + 1;
  }

  /** Skips a comment or enters an executable one; a negative answer is `-(position + 1)` of one without an end. */
  #comment(at: number): number {
    const sql = this.#sql;
    let look = at + 2;
    const maria = this.#mariadb && sql[look] === UPPER_M && sql[look + 1] === BANG;
    if (maria) look++;
    if (sql[look] !== BANG) {
      const end = this.#close(look, false);
      return end < 0 ? -at - 1 : end;
    }
    look++;
    this.versioned = true;
    let digits = 0;
    let version = 0;
    while (digits < 6 && isDigit(sql[look + digits])) version = version * 10 + sql[look + digits++]! - 0x30;
    if (digits < 5) {
      this.#executable = true;
      return look;
    }
    if (this.#executes(version, maria)) {
      this.#executable = true;
      return look + digits;
    }
    const end = this.#close(look, true);
    return end < 0 ? -at - 1 : end;
  }

  #executes(version: number, maria: boolean): boolean {
    if (version > this.#version) return false;
    // MariaDB leaves out what only MySQL 5.7 and later understands.
    return !this.#mariadb || maria || version < 50700 || version > 99999;
  }

  #close(at: number, nested: boolean): number {
    const sql = this.#sql;
    for (;;) {
      const star = sql.indexOf(STAR, at);
      if (star < 0) return -1;
      if (nested && star > at && sql[star - 1] === SLASH) {
        at = this.#close(star + 1, false);
        if (at < 0) return -1;
        continue;
      }
      if (sql[star + 1] === SLASH) return star + 2;
      at = star + 1;
    }
  }

  #hint(at: number): number {
    const end = this.#close(at + 3, false);
    if (end < 0) return this.#opaque(at, false);
    this.start = at;
    this.end = end;
    return this.kind = HINT;
  }

  #name(at: number): number {
    const sql = this.#sql;
    const length = sql.length;
    // A dollar sign first may open a text in dollar quotes, or be deprecated.
    if (sql[at] === DOLLAR) return this.#opaque(at, false);
    let hash = HASH_START;
    let end = at;
    for (; end < length; end++) {
      const byte = sql[end]!;
      const kind = CLASS[byte];
      if (kind !== WORD && kind !== DIGIT) break;
      hash = Math.imul(hash ^ LOWER[byte]!, 0x01000193);
    }
    if (end < length && sql[end]! >= 0x80) return this.#opaque(end, true);
    if (end - at === 1 && sql[end] === SINGLE) {
      const prefix = LOWER[sql[at]!];
      if (prefix === LOWER_N || prefix === LOWER_X || prefix === LOWER_B) return this.#quote(end, at);
    }
    this.start = at;
    this.end = end;
    this.word = wordAt(sql, at, end, hash);
    this.#hintable = hintable[this.word] === 1;
    return this.kind = NAME;
  }

  #number(at: number): number {
    const sql = this.#sql;
    let end = at + 1;
    if (sql[at] === 0x30 && (sql[end] === LOWER_X || sql[end] === LOWER_B)) {
      const hex = sql[end] === LOWER_X;
      end++;
      while (hex ? isHexDigit(sql[end]) : sql[end] === 0x30 || sql[end] === 0x31) end++;
      if (end > at + 2 && !this.#wordly(end)) return this.#numberEnds(at, end);
      return this.#name(at);
    }
    while (isDigit(sql[end])) end++;
    const byte = sql[end];
    if (byte === DOT) return this.#fraction(at, end);
    if (!this.#wordly(end)) return this.#numberEnds(at, end);
    if (LOWER[byte!] === LOWER_E) {
      let exponent = end + 1;
      if (sql[exponent] === PLUS || sql[exponent] === MINUS) exponent++;
      if (isDigit(sql[exponent])) {
        while (isDigit(sql[exponent])) exponent++;
        return this.#numberEnds(at, exponent);
      }
    }
    return this.#name(at);
  }

  #wordly(at: number): boolean {
    return isWordByte(this.#sql[at]) || (this.#sql[at] ?? 0) >= 0x80;
  }

  /** `point` is where the dot is. */
  #fraction(at: number, point: number): number {
    const sql = this.#sql;
    let end = point + 1;
    while (isDigit(sql[end])) end++;
    if (LOWER[sql[end] ?? 0] === LOWER_E) {
      let exponent = end + 1;
      if (sql[exponent] === PLUS || sql[exponent] === MINUS) exponent++;
      if (!isDigit(sql[exponent])) return this.#opaque(end, false);
      while (isDigit(sql[exponent])) exponent++;
      end = exponent;
    }
    return this.#numberEnds(at, end);
  }

  #numberEnds(at: number, end: number): number {
    this.start = at;
    this.end = end;
    return this.kind = NUMBER;
  }

  /** `from` is where the token begins: a prefix may stand before its quote. */
  #quote(at: number, from: number): number {
    const sql = this.#sql;
    const quote = sql[at]!;
    const identifier = quote === BACKTICK || (quote === DOUBLE && this.#ansiQuotes);
    const end = this.#closing(at + 1, quote, !identifier && this.#escapes);
    if (end < 0) return this.#opaque(from, false);
    this.start = from;
    this.end = end;
    return this.kind = identifier ? QUOTED : STRING;
  }

  /** Past the closing quote; -1 without one. */
  #closing(at: number, quote: number, escapes: boolean): number {
    const sql = this.#sql;
    const length = sql.length;
    while (at < length) {
      const byte = sql[at++]!;
      if (byte === BACKSLASH && escapes) at++;
      else if (byte === quote) {
        if (sql[at] !== quote) return at;
        at++;
      }
    }
    return -1;
  }

  #symbol(at: number, byte: number, second: number | undefined): number {
    const sql = this.#sql;
    if (byte === AT) return this.#variable(at, second);
    let length = 1;
    switch (byte) {
      case BACKSLASH:
        if (second !== 0x4e || this.#wordly(at + 2)) return this.#opaque(at, false);
        return this.#numberEnds(at, at + 2);
      case COLON:
        if (second !== EQUAL) return this.#opaque(at, false);
        length = 2;
        break;
      case LESS:
        if (second === EQUAL) length = sql[at + 2] === GREATER ? 3 : 2;
        else if (second === GREATER || second === LESS) length = 2;
        break;
      case GREATER:
        if (second === EQUAL || second === GREATER) length = 2;
        break;
      case BANG:
        if (second === EQUAL) length = 2;
        break;
      case PIPE:
      case AMPERSAND:
        if (second === byte) length = 2;
        break;
      case MINUS:
        if (second === GREATER) length = sql[at + 2] === GREATER ? 3 : 2;
        break;
      case 0x5b: // [
      case 0x5d: // ]
        return this.#opaque(at, false);
    }
    this.#dotted = byte === DOT;
    this.start = at;
    this.end = at + length;
    this.code = byte;
    return this.kind = SYMBOL;
  }

  #variable(at: number, second: number | undefined): number {
    const sql = this.#sql;
    this.start = at;
    if (second === AT) {
      this.end = at + 2;
      return this.kind = SYSTEM_VARIABLE;
    }
    let end = at + 1;
    if (second === SINGLE || second === DOUBLE || second === BACKTICK) {
      const identifier = second === BACKTICK || (second === DOUBLE && this.#ansiQuotes);
      end = this.#closing(at + 2, second, !identifier && this.#escapes);
      if (end < 0) return this.#opaque(at, false);
    } else {
      while (isWordByte(sql[end]) || sql[end] === DOT) end++;
      if ((sql[end] ?? 0) >= 0x80) return this.#opaque(at, true);
    }
    this.end = end;
    return this.kind = USER_VARIABLE;
  }
}
