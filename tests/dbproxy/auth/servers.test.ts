import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Place } from "../../../plugins/dbproxy/net/socket.ts";
import type { TlsMode } from "../../../plugins/dbproxy/net/tls.ts";
import type { Database } from "../../support/database.ts";
import { hasMariaDb, startMariaDb } from "../../support/mariadb.ts";
import { mysql9Absent, startMysql9 } from "../../support/mysql9.ts";
import { allowSlowTests } from "../../support/wait.ts";
import { logIn, type LoginOptions, type LoginResult } from "./packets.ts";

allowSlowTests(120_000);

const long = "x".repeat(200);
const ways = ["tcp", "tls", "unix"] as const;
type Way = (typeof ways)[number];

function at(database: Database, way: Way): Place {
  return way === "unix"
    ? { kind: "unix", path: database.socket }
    : { kind: "tcp", host: database.host, port: database.port };
}

function enter(database: Database, way: Way, options: LoginOptions): Promise<LoginResult> {
  if (way !== "tls") return logIn(at(database, way), options);
  const ca = readFileSync(database.certificates!.ca, "utf8");
  return logIn(at(database, way), { ...options, tls: { mode: "verify_identity", ca, servername: "127.0.0.1" } });
}

/** Every account over every way, with its password and with another. */
function accounts(database: () => Database, passwords: Readonly<Record<string, string>>): void {
  for (const way of ways) {
    test(`lets every account in over ${way} with its password only`, async () => {
      for (const [user, password] of Object.entries(passwords)) {
        expect([user, await enter(database(), way, { user, password })]).toMatchObject([user, { accepted: true }]);
        const wrong = await enter(database(), way, { user, password: password + "?" });
        expect([user, wrong.accepted, wrong.error.slice(0, 4)]).toEqual([user, false, "1045"]);
      }
    });
  }
}

const mariaDb = hasMariaDb() ? describe : describe.skip;
mariaDb("MariaDB", () => {
  let database: Database;
  const passwords = {
    nat: "secret",
    nat_long: long,
    nat_empty: "",
    ed: "secret",
    ed_long: long,
    ed_umlaut: "geheim-ä-€",
  };

  beforeAll(async () => {
    const identified = (user: string, password: string) =>
      user.startsWith("ed")
        ? `IDENTIFIED VIA ed25519 USING PASSWORD('${password}')`
        : `IDENTIFIED VIA mysql_native_password USING PASSWORD('${password}')`;
    database = await startMariaDb({
      tls: true,
      init: [
        "INSTALL SONAME 'auth_ed25519'",
        ...Object.entries(passwords).map(([user, password]) => `CREATE USER ${user}@'%' ${identified(user, password)}`),
        "CREATE USER two@'%' IDENTIFIED VIA ed25519 USING PASSWORD('first') OR mysql_native_password USING PASSWORD('second')",
      ],
    });
  });
  afterAll(() => database?.stop());

  accounts(() => database, passwords);

  test("asks for one plugin after the other where an account has several", async () => {
    expect(await enter(database, "tcp", { user: "two", password: "first" })).toMatchObject({ accepted: true });
    expect(await enter(database, "tcp", { user: "two", password: "second" })).toMatchObject({ accepted: true });
    expect(await enter(database, "tcp", { user: "two", password: "third" })).toMatchObject({ accepted: false });
  });
});

const absent = mysql9Absent();
(absent === undefined ? describe : describe.skip)(`MySQL 9${absent === undefined ? "" : ` (${absent})`}`, () => {
  let database: Database;
  const passwords = {
    sha2: "secret",
    sha2_long: long,
    sha2_empty: "",
    old: "secret",
    old_long: long,
    umlaut: "geheim-ä-€",
  };

  beforeAll(async () => {
    database = await startMysql9({
      tls: true,
      init: Object.entries(passwords).map(([user, password]) =>
        `CREATE USER ${user}@'%' IDENTIFIED WITH ${
          user.startsWith("old") ? "sha256_password" : "caching_sha2_password"
        } BY '${password}'`
      ),
    });
  });
  afterAll(() => database?.stop());

  accounts(() => database, passwords);

  test("takes the full path first, by RSA or under TLS, and the fast one then", async () => {
    const options = { user: "sha2", password: "secret" };
    const forget = () => database.admin("FLUSH PRIVILEGES");
    await forget();
    expect((await enter(database, "tcp", options)).steps).toEqual(["0104", "01", "00"]);
    expect((await enter(database, "tcp", options)).steps).toEqual(["0103", "00"]);
    await forget();
    expect((await enter(database, "tls", options)).steps).toEqual(["0104", "00"]);
    await forget();
    expect((await enter(database, "unix", options)).steps).toEqual(["0104", "00"]);
    expect((await enter(database, "tls", options)).steps).toEqual(["0103", "00"]);
  });

  test("takes the password under a key that was known beforehand", async () => {
    const rows = await database.admin("SHOW STATUS LIKE 'Caching_sha2_password_rsa_public_key'");
    await database.admin("FLUSH PRIVILEGES");
    const options = { user: "sha2", password: "secret", serverKey: rows[0]![1]!, allowKeyRetrieval: false };
    expect((await enter(database, "tcp", options)).steps).toEqual(["0104", "00"]);
  });

  test("shows its certificate to every mode", async () => {
    const ca = readFileSync(database.certificates!.ca, "utf8");
    const otherCa = readFileSync(database.certificates!.otherCa, "utf8");
    const modes: [TlsMode, string | undefined, string | undefined, boolean][] = [
      ["preferred", undefined, undefined, true],
      ["required", undefined, undefined, true],
      ["verify_ca", ca, undefined, true],
      ["verify_ca", otherCa, undefined, false],
      ["verify_identity", ca, "localhost", true],
      ["verify_identity", ca, "db.example", false],
    ];
    for (const [mode, ca, servername, works] of modes) {
      const tls = { mode, ...(ca === undefined ? {} : { ca }), ...(servername === undefined ? {} : { servername }) };
      const result = await logIn(at(database, "tls"), { user: "sha2", password: "secret", tls }).catch((error) =>
        error
      );
      expect([mode, works ? result.accepted : result.code]).toEqual([mode, works ? true : "DB_TLS"]);
    }
  });
});
