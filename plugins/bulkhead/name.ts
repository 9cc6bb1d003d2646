import { badKey, badName } from "./errors.ts";

/** Longest name of a bulkhead, and longest with a key, in characters. */
const longestName = 128;
const longestKeyed = 255;

const plain = /^[A-Za-z0-9_.:-]+$/;
const keyed = /^([A-Za-z0-9_.:-]+)\/[A-Za-z0-9_.~-]+$/;

/**
 * Checks the name of a bulkhead as its users give it: 1 to 128 of `A-Z a-z 0-9 _ . : -`.
 *
 * @throws CoreError `BULKHEAD_NAME`
 */
export function checkBaseName(name: string): string {
  if (name.length > longestName || !plain.test(name) || name.includes("\n")) throw badName(name);
  return name;
}

/**
 * Whether that is the name of a bulkhead as stores see it: that of {@linkcode checkBaseName}, or such a name, a slash and a key as
 * {@linkcode keyedName} writes it; at most 255 characters. No store keeps anything of its own under such a name.
 */
export function isName(name: string): boolean {
  const base = keyed.exec(name)?.[1] ?? name;
  return name.length <= longestKeyed && base.length <= longestName && plain.test(base) && !name.includes("\n");
}

/** @throws CoreError `BULKHEAD_NAME` for what is no name ({@linkcode isName}) */
export function checkName(name: string): string {
  if (!isName(name)) throw badName(name);
  return name;
}

const encoder = new TextEncoder();

/** The key as a name has it, up to where it is too long for any. */
function written(key: string): string {
  if (/^[A-Za-z0-9_.-]*$/.test(key)) return key;
  let text = "";
  for (const byte of encoder.encode(key.slice(0, longestKeyed))) {
    const char = String.fromCharCode(byte);
    text += /[A-Za-z0-9_.-]/.test(char) ? char : `~${byte.toString(16).padStart(2, "0")}`;
  }
  return text;
}

/** Whether {@linkcode keyedName} has a name for `key`. */
export function fitsKey(name: string, key: string): boolean {
  return key !== "" && key.length <= longestKeyed && name.length + 1 + written(key).length <= longestKeyed;
}

/**
 * The name of one key's share of a keyed bulkhead. Any string is a key: what names do not have is written as `~` and the
 * hexadecimal of its bytes, so different keys have different names.
 *
 * @throws CoreError `BULKHEAD_KEY` for one that is empty or too long
 *
 * @example
 * ```ts
 * keyedName("reports", "tenant 7"); // "reports/tenant~207"
 * ```
 */
export function keyedName(name: string, key: string): string {
  if (!fitsKey(name, key)) throw badKey(name, key);
  return `${name}/${written(key)}`;
}

/** As {@linkcode keyedName}, for a key that may not fit: those that do not share one bulkhead. */
export function keyedOrLong(name: string, key: string): string {
  return keyedName(name, fitsKey(name, key) ? key : "(long)");
}

/** The bulkhead that a name with a key is a part of: of few values, so fit for labels of metrics. */
export function baseName(name: string): string {
  const slash = name.indexOf("/");
  return slash < 0 ? name : name.slice(0, slash);
}
