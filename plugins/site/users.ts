import { CoreError } from "../../core/error.ts";
import { readHash, type StoredHash } from "./crypt/stored_hash.ts";

/** Users by name, as a file of `htpasswd` lists them. */
export type Users = ReadonlyMap<string, StoredHash>;

/**
 * Reads `name:hash` lines; empty lines and those that begin with `#` do not count, nor does what stands behind a second colon.
 *
 * @throws SITE_USERS_INVALID, naming the line and never the hash
 */
export function parseUsers(text: string, file: string): Users {
  const users = new Map<string, StoredHash>();
  text.split("\n").forEach((line, i) => {
    const trimmed = line.trim();
    if (trimmed === "" || trimmed.startsWith("#")) return;
    const invalid = (what: string) => new CoreError("SITE_USERS_INVALID", `${file}:${i + 1}: ${what}`);
    const [name = "", hash] = trimmed.split(":");
    if (name === "" || hash === undefined) {
      throw invalid("expected a name, a colon and a hash, as htpasswd writes them");
    }
    const stored = readHash(hash);
    if (stored === undefined) {
      throw invalid(
        `cannot use the hash of ${
          JSON.stringify(name)
        }; make one with "htpasswd -B" (bcrypt, at most cost 16) or "openssl passwd -6"`,
      );
    }
    if (users.has(name)) throw invalid(`${JSON.stringify(name)} is there twice`);
    users.set(name, stored);
  });
  return users;
}
