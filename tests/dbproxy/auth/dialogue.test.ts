import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { authSwitch, readAuthSwitch } from "../../../plugins/dbproxy/auth/auth_packets.ts";
import { clientDialogue, type ClientDialogueOptions } from "../../../plugins/dbproxy/auth/client_dialogue.ts";
import type { Secret, ServerDialogue } from "../../../plugins/dbproxy/auth/dialogue.ts";
import { newNonce } from "../../../plugins/dbproxy/auth/nonce.ts";
import { rsaKeys } from "../../../plugins/dbproxy/auth/rsa.ts";
import { nativeHash } from "../../../plugins/dbproxy/auth/scramble.ts";
import { serverDialogue, Sha2Cache, trustDialogue } from "../../../plugins/dbproxy/auth/server_dialogue.ts";
import { allowSlowTests } from "../../support/wait.ts";

allowSlowTests(60_000);

interface Talk {
  readonly verdict: "accepted" | "refused";
  /** What the server sent before its verdict, told by first bytes. */
  readonly sent: readonly string[];
}

/** Lets a client and a server talk until the server has made up its mind. */
function talk(client: Omit<ClientDialogueOptions, "user">, server: ServerDialogue): Talk {
  const dialogue = clientDialogue({ user: "app", ...client });
  const sent: string[] = [];
  let step = server.start(dialogue.first());
  for (let turn = 0; turn < 10; turn++) {
    let answer: Uint8Array | undefined;
    for (const payload of step.send) {
      sent.push(name(payload));
      answer = dialogue.next(payload);
    }
    if (step.kind !== "wait") {
      expect(answer).toBeUndefined();
      return { verdict: step.kind, sent };
    }
    step = server.next(answer!);
  }
  throw new Error("They talk without end");
}

function name(payload: Uint8Array): string {
  if (payload[0] === 0xfe) return "switch";
  if (payload.length === 2) return payload[1] === 3 ? "fast" : "full";
  return "key";
}

function served(secret: Secret | undefined, options: {
  plugin?: string;
  nonce: Uint8Array;
  secure?: boolean;
  cache?: Sha2Cache;
  alwaysSwitch?: boolean;
}): ServerDialogue {
  const { plugin = "caching_sha2_password", secure = false, cache = new Sha2Cache(), ...rest } = options;
  return serverDialogue({ user: "app", secret, plugin, secure, cache, keys: rsaKeys, ...rest });
}

const plugins = ["mysql_native_password", "caching_sha2_password", "sha256_password", "client_ed25519"] as const;

describe("a request for another plugin", () => {
  test("keeps a zero that is the nonce's own, and drops the NUL behind twenty bytes", () => {
    const twenty = new Uint8Array(20).fill(7);
    expect(readAuthSwitch(authSwitch("mysql_native_password", twenty))).toEqual({
      plugin: "mysql_native_password",
      nonce: twenty,
    });
    const ending = Uint8Array.from([...new Uint8Array(31).fill(7), 0]);
    for (const plugin of ["client_ed25519", "parsec"]) {
      const unterminated = authSwitch(plugin, ending).subarray(0, -1);
      expect(readAuthSwitch(unterminated)).toEqual({ plugin, nonce: ending });
      const dialogue = clientDialogue({ user: "app", password: "secret", plugin, nonce: twenty, secure: false });
      expect(dialogue.next(unterminated)?.length).toBe(plugin === "parsec" ? 0 : 64);
    }
  });
});

describe("client and server", () => {
  test("agree for every plugin, way and password, and only when the password is right", () => {
    const password = fc.oneof(
      fc.constant(""),
      fc.constant("x".repeat(200)),
      fc.string({ maxLength: 30 }).filter((text) => !text.includes("\0")),
    );
    fc.assert(
      fc.property(
        fc.record({
          greeting: fc.constantFrom(...plugins),
          offered: fc.constantFrom("mysql_native_password", "caching_sha2_password"),
          secure: fc.boolean(),
          hashed: fc.boolean(),
          cached: fc.boolean(),
          alwaysSwitch: fc.boolean(),
          right: password,
          given: fc.option(password, { nil: undefined }),
        }),
        ({ greeting, offered, secure, hashed, cached, alwaysSwitch, right, given = right }) => {
          // A hash of an empty password is not a secret anyone configures: MySQL writes an empty text for it.
          fc.pre(!hashed || right !== "");
          const cache = new Sha2Cache();
          const secret = hashed ? { native: nativeHash(right) } : { password: right };
          const once = (password: string) => {
            const nonce = newNonce();
            return talk(
              { password, plugin: greeting, nonce, secure },
              served(secret, { plugin: offered, nonce, secure, cache, alwaysSwitch }),
            );
          };
          if (cached) expect(once(right).verdict).toBe("accepted");
          expect(once(given).verdict).toBe(given === right ? "accepted" : "refused");
        },
      ),
      { numRuns: 400 },
    );
  });

  test("take the fast path when the password or its hash is known, and the full one else", () => {
    const nonce = newNonce();
    const client = { password: "secret", plugin: "caching_sha2_password", nonce, secure: false };
    expect(talk(client, served({ password: "secret" }, { nonce })).sent).toEqual(["fast"]);
    const cache = new Sha2Cache();
    const hashed = { native: nativeHash("secret") };
    expect(talk(client, served(hashed, { nonce, cache }))).toEqual({ verdict: "accepted", sent: ["full", "key"] });
    expect(talk(client, served(hashed, { nonce, cache }))).toEqual({ verdict: "accepted", sent: ["fast"] });
    const secure = { ...client, secure: true };
    expect(talk(secure, served(hashed, { nonce, secure: true }))).toEqual({ verdict: "accepted", sent: ["full"] });
  });

  test("need no request when the client has the key", () => {
    const nonce = newNonce();
    const serverKey = new TextDecoder().decode(rsaKeys().publicPem);
    const client = { password: "secret", plugin: "caching_sha2_password", nonce, secure: false, serverKey };
    const hashed = { native: nativeHash("secret") };
    expect(talk(client, served(hashed, { nonce }))).toEqual({ verdict: "accepted", sent: ["full"] });
    expect(talk({ ...client, password: "wrong" }, served(hashed, { nonce })).verdict).toBe("refused");
  });

  test("serve a client that asks for the key over a unix socket, as mysqlnd does", () => {
    const nonce = newNonce();
    const client = { password: "secret", plugin: "caching_sha2_password", nonce, secure: false };
    const server = served({ native: nativeHash("secret") }, { nonce, secure: true });
    expect(talk(client, server)).toEqual({ verdict: "accepted", sent: ["full", "key"] });
  });

  test("exchange the same packets for an unknown user as for a wrong password", () => {
    for (const plugin of plugins) {
      for (const secure of [true, false]) {
        for (const password of ["", "wrong"]) {
          const nonce = newNonce();
          const client = { password, plugin, nonce, secure };
          const unknown = talk(client, served(undefined, { nonce, secure }));
          expect(unknown.verdict).toBe("refused");
          expect(talk(client, served({ password: "secret" }, { nonce, secure }))).toEqual(unknown);
          expect(talk(client, served({ native: nativeHash("secret") }, { nonce, secure }))).toEqual(unknown);
        }
      }
    }
  });

  test("do not let a user in whose hash is cached and who is no more", () => {
    const nonce = newNonce();
    const cache = new Sha2Cache();
    const client = { password: "secret", plugin: "caching_sha2_password", nonce, secure: false };
    talk(client, served({ native: nativeHash("secret") }, { nonce, cache }));
    expect(cache.get("app")).toBeDefined();
    expect(talk(client, served(undefined, { nonce, cache })).verdict).toBe("refused");
  });

  test("end in a refusal whatever bytes come", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...plugins, "", "dialog", "mysql_clear_password"),
        fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        (plugin, packets, secure) => {
          const server = served({ password: "secret" }, { nonce: newNonce(), secure });
          let step = server.start({ plugin, auth: packets[0]! });
          for (const packet of packets) if (step.kind === "wait") step = server.next(packet);
          expect(step.kind).not.toBe("accepted");
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe("a trusting server", () => {
  test("accepts every client in words it takes for a success", () => {
    for (const plugin of plugins) {
      for (const secure of [true, false]) {
        for (const password of ["", "whatever"]) {
          const nonce = newNonce();
          expect(talk({ password, plugin, nonce, secure }, trustDialogue()).verdict).toBe("accepted");
        }
      }
    }
    expect(trustDialogue().start({ plugin: "", auth: new Uint8Array() })).toEqual({ kind: "accepted", send: [] });
  });
});

describe("a client", () => {
  const utf8 = (text: string) => new TextEncoder().encode(text);
  const switchTo = (plugin: string, nonce: Uint8Array) => Uint8Array.of(0xfe, ...utf8(plugin), 0, ...nonce, 0);
  const options: ClientDialogueOptions = {
    user: "app",
    password: "secret",
    plugin: "caching_sha2_password",
    nonce: newNonce(),
    secure: false,
  };
  const errorOf = (work: () => unknown) => {
    try {
      work();
    } catch (error) {
      const { code, message } = error as { code: string; message: string };
      return `${code}: ${message}`;
    }
    return "none";
  };

  test("sends no secret in clear where others may read it", () => {
    const clear = switchTo("mysql_clear_password", newNonce());
    expect(errorOf(() => clientDialogue(options).next(clear))).toContain("DB_AUTH_UNSUPPORTED");
    expect(clientDialogue({ ...options, secure: true }).next(clear)).toEqual(utf8("secret\0"));
    const guarded = clientDialogue({ ...options, allowKeyRetrieval: false });
    guarded.first();
    expect(errorOf(() => guarded.next(Uint8Array.of(1, 4)))).toContain("needs its RSA key to be known");
  });

  test("refuses what it does not speak, in words", () => {
    const next = (payload: Uint8Array) =>
      errorOf(() => {
        const dialogue = clientDialogue(options);
        dialogue.first();
        dialogue.next(payload);
      });
    expect(next(Uint8Array.of(0xfe))).toContain("in the form of MySQL 4.0");
    expect(next(Uint8Array.of(2, ...utf8("authentication_webauthn_client\0")))).toContain("a second factor");
    expect(next(switchTo("auth_gssapi_client", newNonce()))).toContain('the plugin "auth_gssapi_client"');
    expect(next(switchTo("client_ed25519", newNonce()))).toContain("a nonce of 20 bytes, not 32");
    expect(next(new Uint8Array())).toContain("DB_PROTOCOL");
    expect(next(Uint8Array.of(0x50, 1, 2))).toContain("DB_PROTOCOL");
    expect(next(Uint8Array.of(1, 9))).toContain("DB_PROTOCOL");
    const endless = clientDialogue(options);
    const again = switchTo("mysql_native_password", newNonce());
    expect(errorOf(() => {
      for (let i = 0; i < 100; i++) endless.next(again);
    })).toContain("one plugin after the other");
  });

  test("answers parsec in two steps", () => {
    const dialogue = clientDialogue(options);
    dialogue.first();
    expect(dialogue.next(switchTo("parsec", new Uint8Array(32).fill(5)))).toEqual(new Uint8Array());
    const salt = Uint8Array.from([0x50, 0, ...new Uint8Array(18).fill(3)]);
    expect(dialogue.next(salt)!.length).toBe(96);
    expect(errorOf(() => dialogue.next(salt))).toContain("DB_PROTOCOL");
  });
});
