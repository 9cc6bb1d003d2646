import { CoreError } from "../../../core/error.ts";
import type { Secret } from "./dialogue.ts";

/**
 * Reads configured users: a password, or `*` and 40 hexadecimal digits, the hash that `mysql.user` holds for
 * mysql_native_password.
 *
 * @throws CoreError `DB_USER_INVALID` for `*` followed by anything else that looks like a hash
 */
export function parseUsers(users: Readonly<Record<string, string>>): ReadonlyMap<string, Secret> {
  return new Map(Object.entries(users).map(([name, text]) => [name, parseSecret(name, text)]));
}

/** Reads one user's secret; see {@linkcode parseUsers}. */
export function parseSecret(user: string, text: string): Secret {
  if (/^\*[0-9A-Fa-f]{40}$/.test(text)) {
    return { native: Uint8Array.from(text.slice(1).match(/../g)!, (pair) => parseInt(pair, 16)) };
  }
  // A hash with a digit lost would otherwise become a password that nobody knows.
  if (/^\*[0-9A-Fa-f]{30,50}$/.test(text)) {
    throw new CoreError(
      "DB_USER_INVALID",
      `Cannot use the hash of user ${user}: expected * and 40 hexadecimal digits, got ${text.length - 1}`,
    );
  }
  return { password: text };
}
