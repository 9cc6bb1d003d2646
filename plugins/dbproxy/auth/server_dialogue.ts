import { authSwitch, moreData, sha2Reply } from "./auth_packets.ts";
import type { Secret, ServerDialogue, ServerStep } from "./dialogue.ts";
import { decryptPassword, type RsaKeys } from "./rsa.ts";
import { equal, nativeHash, nativeVerify, sha2Hash, sha2Verify } from "./scramble.ts";
import type { Sha2Cache } from "./sha2_cache.ts";

export { Sha2Cache } from "./sha2_cache.ts";
export { trustDialogue } from "./trust_dialogue.ts";

/** What a server must know to check a login. */
export interface ServerDialogueOptions {
  readonly user: string;
  /** Undefined for a user that does not exist: it goes through the same packets and is refused. */
  readonly secret: Secret | undefined;
  /** The plugin that the greeting offered: clients that come with another than the two known here are switched to it. */
  readonly plugin: string;
  /** The nonce of the greeting, 20 bytes. */
  readonly nonce: Uint8Array;
  /** TLS or a unix socket: the password itself may come. */
  readonly secure: boolean;
  /** Called when a client asks for the RSA key. */
  readonly keys: () => RsaKeys;
  readonly cache: Sha2Cache;
  /** Ask for the answer anew whatever came, as servers do on COM_CHANGE_USER. */
  readonly alwaysSwitch?: boolean;
}

/**
 * The server's side of a login that is checked, with mysql_native_password or caching_sha2_password, whichever the client
 * comes with: either can be checked against a password, and, once the password itself was seen, against either hash.
 */
export function serverDialogue(options: ServerDialogueOptions): ServerDialogue {
  return new Server(options);
}

const fastOk = moreData(Uint8Array.of(sha2Reply.fastOk));
const full = moreData(Uint8Array.of(sha2Reply.full));

const refused: ServerStep = { kind: "refused", send: [] };
const accepted: ServerStep = { kind: "accepted", send: [] };

/** Hashes that no password has: what an unknown user's answer is compared with. */
const nobody20 = new Uint8Array(20);
const nobody32 = new Uint8Array(32);

class Server implements ServerDialogue {
  readonly #options: ServerDialogueOptions;
  #plugin = "";
  #awaits: "answer" | "password" | "block" | "nothing" = "nothing";

  constructor(options: ServerDialogueOptions) {
    this.#options = options;
  }

  start(login: { readonly plugin: string; readonly auth: Uint8Array }): ServerStep {
    const { plugin, nonce, alwaysSwitch = false } = this.#options;
    // A client that cannot name a plugin has the one of MySQL 4.1.
    this.#plugin = login.plugin || "mysql_native_password";
    if (!alwaysSwitch && isKnown(this.#plugin)) return this.#answer(login.auth);
    this.#plugin = isKnown(plugin) ? plugin : "caching_sha2_password";
    this.#awaits = "answer";
    return { kind: "wait", send: [authSwitch(this.#plugin, nonce)] };
  }

  next(payload: Uint8Array): ServerStep {
    const awaits = this.#awaits;
    this.#awaits = "nothing";
    switch (awaits) {
      case "answer":
        return this.#answer(payload);
      case "password":
        return this.#password(payload);
      case "block":
        return this.#check(decryptPassword(payload, this.#options.nonce, this.#options.keys()));
      case "nothing":
        return refused;
    }
  }

  #answer(answer: Uint8Array): ServerStep {
    const { secret, nonce, user, cache } = this.#options;
    const empty = answer.length === 0 || (answer.length === 1 && answer[0] === 0);
    if (empty) return secret?.password === "" ? accepted : refused;
    if (this.#plugin === "mysql_native_password") {
      const hash = secret?.native ?? (secret?.password === undefined ? nobody20 : nativeHash(secret.password));
      return nativeVerify(answer, nonce, hash) && known(secret) ? accepted : refused;
    }
    const hash = secret?.password === undefined ? cache.get(user) ?? nobody32 : sha2Hash(secret.password);
    if (sha2Verify(answer, nonce, hash) && known(secret)) return { kind: "accepted", send: [fastOk] };
    this.#awaits = "password";
    return { kind: "wait", send: [full] };
  }

  /** The password in clear, the request for the key, or, from a client that has the key, the encrypted password. */
  #password(payload: Uint8Array): ServerStep {
    const { secure, keys, nonce } = this.#options;
    // mysqlnd asks for the key over a unix socket too.
    if (payload.length === 1 && payload[0] === sha2Reply.askKey) {
      this.#awaits = "block";
      return { kind: "wait", send: [moreData(keys().publicPem)] };
    }
    if (secure) return this.#check(payload.at(-1) === 0 ? payload.subarray(0, -1) : undefined);
    return this.#check(decryptPassword(payload, nonce, keys()));
  }

  #check(password: Uint8Array | undefined): ServerStep {
    const { secret, user, cache } = this.#options;
    // An empty password answers with nothing, and never comes here.
    if (password === undefined || password.length === 0) return refused;
    const hash = sha2Hash(password);
    const right = secret?.password !== undefined
      ? equal(hash, sha2Hash(secret.password))
      : equal(nativeHash(password), secret?.native ?? nobody20) && known(secret);
    if (!right) return refused;
    if (secret?.password === undefined) cache.set(user, hash);
    return accepted;
  }
}

function isKnown(plugin: string): boolean {
  return plugin === "mysql_native_password" || plugin === "caching_sha2_password";
}

function known(secret: Secret | undefined): boolean {
  return secret?.password !== undefined || secret?.native !== undefined;
}
