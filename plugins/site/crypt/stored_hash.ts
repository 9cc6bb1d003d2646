import { createHash } from "node:crypto";
import { bcrypt, prepareBcrypt } from "./bcrypt.ts";
import { md5Crypt } from "./md5_crypt.ts";
import { shaCrypt, usualRounds } from "./sha_crypt.ts";
import type { Steps } from "./steps.ts";

/** A hash as it stands in a file of users. */
export interface StoredHash {
  readonly text: string;
  /** Whether it takes long enough to be worth remembering. */
  readonly costly: boolean;
  /** Hashes a password in the same way: it is right when that gives `text`. */
  hash(password: Uint8Array): Steps;
}

/** 2^16 rounds are some seconds, and a million of SHA-512 are too. */
const maxCost = 16, maxRounds = 1_000_000;

/**
 * Reads a hash of bcrypt (`$2y$`, `$2b$`, `$2a$`), SHA-512 (`$6$`), SHA-256 (`$5$`), MD5 (`$apr1$`, `$1$`) or `{SHA}`; undefined for
 * anything else, and for one that would take all day.
 */
export function readHash(text: string): StoredHash | undefined {
  const blowfish = /^(\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{22})[./A-Za-z0-9]{31}$/.exec(text);
  if (blowfish !== null) {
    const cost = Number(blowfish[2]);
    if (cost < 4 || cost > maxCost) return undefined;
    prepareBcrypt();
    return { text, costly: true, hash: (password) => bcrypt(password, blowfish[1]!) };
  }
  const sha = /^(\$([56])\$(?:rounds=([1-9]\d*)\$)?([^$:]{0,16}))\$([./A-Za-z0-9]+)$/.exec(text);
  if (sha !== null) {
    const [, prefix = "", kind, count, salt = "", letters = ""] = sha;
    const bits = kind === "6" ? 512 : 256, rounds = count === undefined ? usualRounds : Number(count);
    if (letters.length !== (bits === 512 ? 86 : 43) || rounds < 1000 || rounds > maxRounds) return undefined;
    return { text, costly: true, hash: (password) => shaCrypt(password, { bits, salt, rounds, prefix }) };
  }
  const md5 = /^(\$apr1\$|\$1\$)([^$:]{0,8})\$[./A-Za-z0-9]{22}$/.exec(text);
  if (md5 !== null) {
    const [, magic, salt = ""] = md5;
    return { text, costly: true, hash: (password) => md5Crypt(password, magic as "$apr1$" | "$1$", salt) };
  }
  return /^\{SHA\}[A-Za-z0-9+/]{27}=$/.test(text) ? { text, costly: false, hash: sha1 } : undefined;
}

// deno-lint-ignore require-yield -- one step is enough
function* sha1(password: Uint8Array): Steps {
  return `{SHA}${createHash("sha1").update(password).digest("base64")}`;
}
