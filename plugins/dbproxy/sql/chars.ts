/**
 * What a byte may be outside strings and comments, as the servers' own lexers see it. Bytes of 0x80 and more depend on the
 * session's charset (0xA0 is a space in latin1, a part of a letter in utf8mb4), so they have a class of their own that the
 * analysis treats as unknown.
 *
 * @module
 */

export const BAD = 0;
export const SPACE = 1;
export const WORD = 2;
export const DIGIT = 3;
export const OPERATOR = 4;
export const QUOTE = 5;
export const HIGH = 6;

export const CLASS: Uint8Array = new Uint8Array(256);
/** ASCII letters folded to lower case, every other byte itself. */
export const LOWER: Uint8Array = new Uint8Array(256);

for (let byte = 0; byte < 256; byte++) {
  LOWER[byte] = byte >= 0x41 && byte <= 0x5a ? byte + 32 : byte;
  if (byte >= 0x80) CLASS[byte] = HIGH;
}
for (const char of " \t\n\v\f\r") CLASS[char.charCodeAt(0)] = SPACE;
for (const char of "abcdefghijklmnopqrstuvwxyz_$") {
  CLASS[char.charCodeAt(0)] = WORD;
  CLASS[char.toUpperCase().charCodeAt(0)] = WORD;
}
for (const char of "0123456789") CLASS[char.charCodeAt(0)] = DIGIT;
for (const char of "!#%&()*+,-./:;<=>?@[\\]^{|}~") CLASS[char.charCodeAt(0)] = OPERATOR;
for (const char of "'\"`") CLASS[char.charCodeAt(0)] = QUOTE;

/** Whether a byte can go on an unquoted identifier. */
export function isWordByte(byte: number | undefined): boolean {
  const kind = CLASS[byte ?? 0];
  return kind === WORD || kind === DIGIT;
}

export function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

export function isHexDigit(byte: number | undefined): boolean {
  return isDigit(byte) || (byte !== undefined && LOWER[byte]! >= 0x61 && LOWER[byte]! <= 0x66);
}
