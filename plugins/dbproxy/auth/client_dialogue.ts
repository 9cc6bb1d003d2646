import { CoreError } from "../../../core/error.ts";
import { readAuthSwitch, sha2Reply } from "./auth_packets.ts";
import type { ClientDialogue } from "./dialogue.ts";
import { ed25519Answer } from "./ed25519.ts";
import { parsecAnswer } from "./parsec.ts";
import { encryptPassword } from "./rsa.ts";
import { clearAnswer, nativeAnswer, sha2Answer } from "./scramble.ts";

/** What a client must know to log in. */
export interface ClientDialogueOptions {
  readonly user: string;
  readonly password: string;
  /** The plugin that the greeting names. */
  readonly plugin: string;
  /** The nonce of the greeting, 20 bytes. */
  readonly nonce: Uint8Array;
  /** TLS or a unix socket: the password itself may be sent. */
  readonly secure: boolean;
  /** TLS, which sha256_password wants to see before it takes the password itself; `secure` when absent. */
  readonly encrypted?: boolean;
  /** The server's RSA key as PEM, when it is known beforehand: it is not asked for then. */
  readonly serverKey?: string;
  /** Whether the server may be asked for its RSA key over a plain connection. Default true, as PHP does. */
  readonly allowKeyRetrieval?: boolean;
}

/** The client's side of a login to a backend. */
export function clientDialogue(options: ClientDialogueOptions): ClientDialogue {
  return new Client(options);
}

/** Asks sha256_password for the RSA key. */
const sha256AskKey = Uint8Array.of(1);
const sha2AskKey = Uint8Array.of(sha2Reply.askKey);
/** MariaDB lets an account have several plugins and asks for one after the other. */
const mostSwitches = 8;

class Client implements ClientDialogue {
  readonly #options: ClientDialogueOptions;
  #plugin: string;
  #nonce: Uint8Array;
  #switches = 0;
  /** What the next AuthMoreData of this plugin must be. */
  #expects: "verdict" | "key" | "salt" | "nothing" = "nothing";

  constructor(options: ClientDialogueOptions) {
    this.#options = options;
    this.#nonce = options.nonce;
    // Of the other plugins none works with the nonce of a greeting: the server asks for what it wants.
    this.#plugin = ["caching_sha2_password", "sha256_password"].includes(options.plugin)
      ? options.plugin
      : "mysql_native_password";
  }

  first(): { readonly plugin: string; readonly auth: Uint8Array } {
    return { plugin: this.#plugin, auth: this.#answer() };
  }

  next(payload: Uint8Array): Uint8Array | undefined {
    switch (payload[0]) {
      case 0xfe: {
        if (payload.length === 1) throw unsupported("asks for the password in the form of MySQL 4.0");
        if (++this.#switches > mostSwitches) throw protocol("asks for one plugin after the other");
        ({ plugin: this.#plugin, nonce: this.#nonce } = readAuthSwitch(payload));
        return this.#answer();
      }
      case 0x01:
        return this.#more(payload.subarray(1));
      case 0x02:
        throw unsupported("asks for a second factor, which a pool cannot give");
      default:
        if (this.#expects === "salt" && payload.length > 0) return this.#more(payload);
        throw protocol(payload.length === 0 ? "sent an empty packet" : "sent what is no packet of a login");
    }
  }

  /** The plugin's answer to its nonce. */
  #answer(): Uint8Array {
    const { password, secure, encrypted = secure } = this.#options;
    this.#expects = "nothing";
    switch (this.#plugin) {
      case "mysql_native_password":
        return nativeAnswer(password, this.#sized(20));
      case "caching_sha2_password":
        this.#expects = "verdict";
        return sha2Answer(password, this.#sized(20));
      case "sha256_password":
        // Not so over a unix socket.
        if (encrypted || password === "") return clearAnswer(password);
        return this.#encrypted(sha256AskKey);
      case "client_ed25519":
        return ed25519Answer(password, this.#sized(32));
      case "parsec":
        this.#sized(32);
        this.#expects = "salt";
        return new Uint8Array();
      case "mysql_clear_password":
        if (secure) return clearAnswer(password);
        throw unsupported("asks for the password in clear; that needs TLS or a unix socket");
      default:
        throw unsupported(`asks for the plugin ${JSON.stringify(this.#plugin)}, which this version does not speak`);
    }
  }

  #sized(length: number): Uint8Array {
    if (this.#nonce.length < length) throw protocol(`sent a nonce of ${this.#nonce.length} bytes, not ${length}`);
    return this.#nonce.subarray(0, length);
  }

  #more(data: Uint8Array): Uint8Array | undefined {
    const { password, secure } = this.#options;
    switch (this.#expects) {
      case "verdict":
        if (data.length === 1 && data[0] === sha2Reply.fastOk) {
          this.#expects = "nothing";
          return undefined;
        }
        if (data.length !== 1 || data[0] !== sha2Reply.full) throw protocol("sent an unknown verdict on the password");
        this.#expects = "nothing";
        return secure ? clearAnswer(password) : this.#encrypted(sha2AskKey);
      case "key":
        this.#expects = "nothing";
        return encryptPassword(password, this.#sized(20), new TextDecoder().decode(data));
      case "salt":
        this.#expects = "nothing";
        return parsecAnswer(password, this.#sized(32), data);
      case "nothing":
        throw protocol("sent more than its plugin may");
    }
  }

  /** The password under the server's key; first the request for it when it is not known. */
  #encrypted(ask: Uint8Array): Uint8Array {
    const { password, serverKey, allowKeyRetrieval = true } = this.#options;
    if (serverKey !== undefined) return encryptPassword(password, this.#sized(20), serverKey);
    if (!allowKeyRetrieval) {
      throw unsupported(
        "needs its RSA key to be known: use TLS or a unix socket, give the key, or allow asking for it",
      );
    }
    this.#expects = "key";
    return ask;
  }
}

function unsupported(what: string): CoreError {
  return new CoreError("DB_AUTH_UNSUPPORTED", `Cannot log in to the database: the server ${what}`);
}

function protocol(what: string): CoreError {
  return new CoreError("DB_PROTOCOL", `Cannot log in to the database: the server ${what}`);
}
