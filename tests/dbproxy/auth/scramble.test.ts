import { Buffer } from "node:buffer";
import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { ed25519Answer, ed25519PublicKey, ed25519Verify } from "../../../plugins/dbproxy/auth/ed25519.ts";
import { newNonce } from "../../../plugins/dbproxy/auth/nonce.ts";
import { parsecAnswer } from "../../../plugins/dbproxy/auth/parsec.ts";
import { decryptPassword, encryptPassword, rsaKeys } from "../../../plugins/dbproxy/auth/rsa.ts";
import {
  nativeAnswer,
  nativeHash,
  nativeVerify,
  sha2Answer,
  sha2Hash,
  sha2Verify,
} from "../../../plugins/dbproxy/auth/scramble.ts";
import { parseUsers } from "../../../plugins/dbproxy/auth/users.ts";
import { allowSlowTests } from "../../support/wait.ts";

allowSlowTests(60_000);

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const nonce = Uint8Array.from({ length: 20 }, (_, i) => i + 1);
const passwords = fc.string({ minLength: 1, maxLength: 200, unit: "binary" });
const nonces = fc.uint8Array({ minLength: 20, maxLength: 20 });

function codeOf(work: () => unknown): string {
  try {
    work();
    return "none";
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  }
}

describe("scrambles", () => {
  test("have the servers' values", () => {
    // SELECT PASSWORD('password') and PASSWORD('mypass'), as the manuals print them.
    expect(hex(nativeHash("password"))).toBe("2470c0c06dee42fd1618bb99005adca2ec9d1e19");
    expect(hex(nativeHash("mypass"))).toBe("6c8989366eaf75bb670ad8ea7a7fc1176a95cef4");
    // Computed from the formulas with Python's hashlib.
    expect(hex(nativeAnswer("password", nonce))).toBe("c17d6009a5cb47e59f7483fcf05553bbbf7dd0d6");
    expect(hex(sha2Answer("password", nonce))).toBe("f7ab1c623a6e98dceab35e926290e5746a3141116115f4dd8ccca994393eccdd");
    // ed25519_password('secret') of MariaDB.
    expect(Buffer.from(ed25519PublicKey("secret")).toString("base64")).toBe(
      "ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY=",
    );
  });

  test("are nothing for an empty password", () => {
    expect([nativeAnswer("", nonce), sha2Answer("", nonce), ed25519Answer("", nonce)].map((a) => a.length)).toEqual([
      0,
      0,
      0,
    ]);
  });

  test("verify for the password and nonce they were made of, and no other", () => {
    fc.assert(fc.property(passwords, passwords, nonces, nonces, (password, other, nonce, otherNonce) => {
      fc.pre(password !== other && hex(nonce) !== hex(otherNonce));
      const native = nativeAnswer(password, nonce);
      expect(nativeVerify(native, nonce, nativeHash(password))).toBe(true);
      expect(nativeVerify(native, otherNonce, nativeHash(password))).toBe(false);
      expect(nativeVerify(native, nonce, nativeHash(other))).toBe(false);
      expect(nativeVerify(native.subarray(1), nonce, nativeHash(password))).toBe(false);
      const sha2 = sha2Answer(password, nonce);
      expect(sha2Verify(sha2, nonce, sha2Hash(password))).toBe(true);
      expect(sha2Verify(sha2, otherNonce, sha2Hash(password))).toBe(false);
      expect(sha2Verify(sha2, nonce, sha2Hash(other))).toBe(false);
      expect(sha2Verify(sha2.subarray(1), nonce, sha2Hash(password))).toBe(false);
    }));
  });

  test("of client_ed25519 are signatures that OpenSSL verifies, for passwords of any length", () => {
    fc.assert(
      fc.property(passwords, fc.uint8Array({ minLength: 32, maxLength: 32 }), (password, nonce) => {
        const key = ed25519PublicKey(password);
        const answer = ed25519Answer(password, nonce);
        expect(ed25519Verify(answer, nonce, key)).toBe(true);
        expect(ed25519Verify(answer, nonce.map((byte, i) => i === 5 ? byte ^ 1 : byte), key)).toBe(false);
        expect(ed25519Verify(answer, nonce, ed25519PublicKey(password + "x"))).toBe(false);
        expect(ed25519Verify(answer.map((byte, i) => i === 40 ? byte ^ 1 : byte), nonce, key)).toBe(false);
      }),
      { numRuns: 15 },
    );
  });

  test("of parsec have the value of an independent computation", () => {
    const salt = Uint8Array.from([0x50, 1, ...Array.from({ length: 18 }, (_, i) => i)]);
    const serverNonce = new Uint8Array(32).fill(7);
    const clientNonce = new Uint8Array(32).fill(9);
    expect(hex(parsecAnswer("password", serverNonce, salt, clientNonce))).toBe(
      "0909090909090909090909090909090909090909090909090909090909090909da618c56dd29366ddf587c582c0ba942c284c4aa96b0defdcee332172f6a7f0d82800ea40a791f944c284b8d38058fcfa4aaf74e51e40dfdf08f5e2e86f14f03",
    );
    expect(codeOf(() => parsecAnswer("p", serverNonce, Uint8Array.of(0x51, 1, 2, 3)))).toBe("DB_AUTH_UNSUPPORTED");
    // A hostile server must not have us compute for minutes.
    expect(codeOf(() => parsecAnswer("p", serverNonce, Uint8Array.of(0x50, 25, 2, 3)))).toBe("DB_AUTH_UNSUPPORTED");
    expect(codeOf(() => parsecAnswer("p", serverNonce, Uint8Array.of(0x50)))).toBe("DB_PROTOCOL");
  });

  test("of nonces hold no byte that ends a text early", () => {
    for (let i = 0; i < 200; i++) {
      const nonce = newNonce();
      expect(nonce.length).toBe(20);
      expect(nonce.every((byte) => byte > 0 && byte < 128 && byte !== 0x24)).toBe(true);
    }
    expect(hex(newNonce())).not.toBe(hex(newNonce()));
  });
});

describe("RSA", () => {
  const keys = rsaKeys();
  const pem = new TextDecoder().decode(keys.publicPem);

  test("keys are made once", () => {
    expect(rsaKeys()).toBe(keys);
    expect(pem.startsWith("-----BEGIN PUBLIC KEY-----")).toBe(true);
  });

  test("gives back every password that fits, and refuses one that does not", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 50, unit: "binary" }), nonces, (password, nonce) => {
        const block = encryptPassword(password, nonce, pem);
        expect(Buffer.from(decryptPassword(block, nonce, keys)!).toString()).toBe(
          Buffer.from(password).toString(),
        );
      }),
      { numRuns: 20 },
    );
    expect(decryptPassword(encryptPassword("x".repeat(213), nonce, pem), nonce, keys)!.length).toBe(213);
    expect(codeOf(() => encryptPassword("x".repeat(214), nonce, pem))).toBe("DB_AUTH_UNSUPPORTED");
  });

  test("takes nothing that is not its own", () => {
    expect(decryptPassword(new Uint8Array(256), nonce, keys)).toBeUndefined();
    expect(decryptPassword(new Uint8Array(0), nonce, keys)).toBeUndefined();
    expect(codeOf(() => encryptPassword("x", nonce, "no PEM"))).toBe("DB_PROTOCOL");
    expect(codeOf(() => rsaKeys("/no/such/file"))).toBe("DB_RSA_KEY");
  });
});

describe("users", () => {
  test("are passwords or hashes, and a maimed hash is an error", () => {
    const users = parseUsers({
      app: "secret",
      hashed: "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19",
      star: "*secret",
      empty: "",
    });
    expect(users.get("app")).toEqual({ password: "secret" });
    expect(hex(users.get("hashed")!.native!)).toBe(hex(nativeHash("password")));
    expect(users.get("star")).toEqual({ password: "*secret" });
    expect(users.get("empty")).toEqual({ password: "" });
    expect(codeOf(() => parseUsers({ app: "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E1" }))).toBe("DB_USER_INVALID");
  });
});
