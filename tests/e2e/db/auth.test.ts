/**
 * Logins: every plugin, TLS on both sides, changes of user, collations.
 *
 * @module
 */
import { expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Database } from "../../support/database.ts";
import { forEachServer, type Way } from "../../support/db_matrix.ts";
import { proxyAbsent, startProxy } from "../../support/db_proxy.ts";
import { errorCode, look, session, visit } from "../../support/db_sessions.ts";
import { php } from "../../support/php_client.ts";
import { FLAGS, RawClient } from "../../support/raw_client.ts";
import { allowSlowTests } from "../../support/wait.ts";

allowSlowTests(120_000);

const long = "p".repeat(200);
const users: Readonly<Record<string, string>> = {
  short: "sixteen-letters!",
  long,
  none: "",
  second: "second-password",
};

function init(kind: Way["kind"]): string[] {
  return [
    ...Object.entries(users).flatMap(([name, password]) => [
      `CREATE USER '${name}'@'127.0.0.1' IDENTIFIED BY '${password}'`,
      `GRANT ALL ON *.* TO '${name}'@'127.0.0.1'`,
    ]),
    "CREATE DATABASE elsewhere",
    ...(kind === "mariadb"
      ? [
        "INSTALL SONAME 'auth_ed25519'",
        "CREATE USER ed@'127.0.0.1' IDENTIFIED VIA ed25519 USING PASSWORD('ed-password')",
        "GRANT ALL ON *.* TO ed@'127.0.0.1'",
      ]
      : [
        "CREATE USER sha@'127.0.0.1' IDENTIFIED WITH sha256_password BY 'sha-password'",
        "GRANT ALL ON *.* TO sha@'127.0.0.1'",
      ]),
  ];
}

const options = {
  database: (kind: Way["kind"]) => ({ init: init(kind), tls: true }),
  proxy: {
    size: 4,
    settings: { auth: "users", users: { tester: "tester-password", ...users }, unknown_users: "refuse" },
  },
} as const;

forEachServer("logins", options, (way) => {
  for (const [user, password] of Object.entries(users)) {
    test(`T70 T82 ${user}, a password of ${password.length} letters, cold and warm, by the raw client and by PHP`, async () => {
      for (let round = 0; round < 2; round++) {
        expect(await look(way.place, "SELECT 1", { user, password })).toBe("1");
        expect(await php(way.place, `return one(my(['user' => '${user}', 'password' => '${password}']), 'SELECT 1');`))
          .toBe("1");
      }
      expect(await errorCode(look(way.place, "SELECT 1", { user, password: `${password}x` }))).toBe(1045);
    });
  }

  test("T82 a good password and an unknown schema", async () => {
    for (let round = 0; round < 2; round++) {
      expect(await errorCode(look(way.place, "SELECT 1", { database: "absent" }))).toBe(1049);
    }
  });

  test("T82 a warm login of caching_sha2_password takes the fast path", async () => {
    await using first = await session(way.place);
    await using second = await session(way.place);
    expect(first.dialogue.at(-1)![0]).toBe(0);
    const plugin = second.greeting.plugin;
    if (plugin === "caching_sha2_password") expect(second.dialogue[0]!.toString("hex")).toBe("0103");
    else expect(second.dialogue.length).toBe(1);
  });

  test("an unknown user and a wrong password look alike", async () => {
    const dialogue = async (user: string, password: string) => {
      const client = await RawClient.greet(way.place);
      const code = await errorCode(client.authenticate({ user, password }));
      client.destroy();
      return [code, client.dialogue.map((payload) => payload[0])];
    };
    // MySQL itself may ask a known one for more.
    const known = await dialogue("short", "wrong");
    expect(known[0]).toBe(1045);
    expect((await dialogue("nobody", "wrong"))[0]).toBe(1045);
    if (way.proxied) expect(await dialogue("nobody", "wrong")).toEqual(known);
  });

  // At the server all users of the proxy are the one account of its url.
  const account = way.proxied ? "tester" : "second";

  test("T71 COM_CHANGE_USER: a new session of another user, schema and charset", async () => {
    await visit(way.place, async (client) => {
      await client.run("SET @x=1", "BEGIN", "CREATE TEMPORARY TABLE tmp1 (a INT)");
      await client.changeUser("second", users["second"]!, "elsewhere", 8);
      expect(await client.rows("SELECT SUBSTRING_INDEX(USER(), '@', 1), DATABASE(), @x, @@character_set_client"))
        .toEqual([
          [account, "elsewhere", null, "latin1"],
        ]);
      expect(await errorCode(client.run("SELECT * FROM tmp1"))).toBe(1146);
    });
  });

  test("T71 COM_CHANGE_USER with a wrong password is refused, and what comes of the connection is as with the server", async () => {
    const outcome = async (place: typeof way.place) => {
      await using client = await session(place);
      const code = await errorCode(client.changeUser("second", "wrong"));
      return [code, await client.ping().then((answer) => answer.kind, () => "closed")];
    };
    expect((await outcome(way.place))[0]).toBe(1045);
    expect(await outcome(way.place)).toEqual(await outcome(way.database));
  });

  test("T71 mysqli's change_user()", async () => {
    expect(
      await php(
        way.place,
        `$m = my(); $m->query('SET @x=1'); $m->change_user('second', '${users["second"]}', 'elsewhere');
        return [one($m, 'SELECT @x'), one($m, 'SELECT DATABASE()'), one($m, 'SELECT USER()'), thrown(fn () => $m->change_user('second', 'wrong', 'test'))[0]];`,
      ),
    ).toEqual([null, "elsewhere", `${account}@127.0.0.1`, 1045]);
  });

  test("T72 the greeting offers what the server offers, or less", async () => {
    const [own, servers] = await Promise.all([RawClient.greet(way.place), RawClient.greet(way.database)]);
    own.destroy();
    servers.destroy();
    expect(own.greeting.version).toBe(servers.greeting.version);
    expect(own.greeting.charset).toBe(servers.greeting.charset);
    expect(own.greeting.status).toBe(servers.greeting.status);
    expect(own.greeting.capabilities & ~servers.greeting.capabilities).toBe(0);
    expect(own.greeting.nonce.length).toBe(20);
    expect(own.greeting.nonce.includes(0)).toBe(false);
    const unlike = [own, servers].map(({ greeting }) =>
      greeting.capabilities & (FLAGS.PROTOCOL_41 | FLAGS.MULTI_STATEMENTS | FLAGS.PLUGIN_AUTH | FLAGS.CONNECT_ATTRS)
    );
    expect(unlike[0]).toBe(unlike[1]);
  });

  test("T74 a collation that does not fit into the login", async () => {
    const collation = way.kind === "mysql" ? "utf8mb4_0900_as_cs" : "utf8mb4_uca1400_as_cs";
    await visit(way.place, async (client) => {
      const seen = client.one("SELECT @@collation_connection");
      expect(await seen).toBe(await look(way.database, "SELECT @@collation_connection"));
      const done = await errorCode(client.run(`SET NAMES utf8mb4 COLLATE ${collation}`));
      if (done === 0) expect(await client.one("SELECT @@collation_connection")).toBe(collation);
      else expect(done).toBe(1273);
    });
    expect(await php(way.place, "return one(pdo([], ['charset' => '']), 'SELECT @@collation_connection');")).toBe(
      await php(way.database, "return one(pdo([], ['charset' => '']), 'SELECT @@collation_connection');"),
    );
  });
});

/** Accounts that the proxy itself logs in with, and how its connection is secured. */
const upstreams = {
  database: (kind: Way["kind"]) => ({ init: init(kind), tls: true }),
  hosts: [],
} as const;

forEachServer("the proxy's own login", upstreams, (way) => {
  const through = async (
    database: Database,
    login: { user: string; password: string },
    more: Partial<Parameters<typeof startProxy>[0]>,
  ) => {
    await using proxy = await startProxy({ upstream: { ...database, ...login }, ...more });
    return await visit(proxy, (client) => client.rows("SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1), (SELECT 1)"));
  };
  const accounts = way.kind === "mariadb"
    ? { short: users["short"]!, long, none: "", ed: "ed-password" }
    : { short: users["short"]!, long, none: "", sha: "sha-password" };

  for (const [user, password] of Object.entries(accounts)) {
    for (const tls of ["disabled", "required"]) {
      (proxyAbsent() ? test.skip : test)(`T70 T78 as ${user}, tls=${tls}`, async () => {
        expect(await through(way.database, { user, password }, { query: `tls=${tls}` })).toEqual([[user, "1"]]);
      });
    }
  }

  test.skipIf(way.kind !== "mariadb")("MariaDB's own client logs in as the ed25519 user", () => {
    const args = ["-h127.0.0.1", `-P${way.place.port}`, "-ued", "-ped-password", "-N", "-e", "SELECT 5"];
    expect(execFileSync("mariadb", args, { encoding: "utf8" }).trim()).toBe("5");
  });

  const tlsCases = [
    ["verify_ca", "ca", true],
    ["verify_identity", "ca", true],
    ["verify_ca", "otherCa", false],
    ["verify_identity", "otherCa", false],
  ] as const;
  for (const [tls, authority, works] of tlsCases) {
    (proxyAbsent() ? test.skip : test)(`tls=${tls} with ${works ? "the right" : "a wrong"} authority`, async () => {
      const ca = way.database.certificates![authority];
      const answer = through(way.database, { user: "short", password: users["short"]! }, {
        query: `tls=${tls}`,
        settings: { tls_ca: ca, pool_timeout: "2s" },
        hopeless: !works,
      });
      expect(await answer.then(() => true, () => false)).toBe(works);
    });
  }

  (proxyAbsent() ? test.skip : test)(
    "T68 T77 with a server that wants TLS, KILL and all goes over TLS; and none without",
    async () => {
      await way.database.admin("SET GLOBAL require_secure_transport=ON");
      try {
        expect(await through(way.database, { user: "short", password: users["short"]! }, { query: "tls=required" }))
          .toEqual([["short", "1"]]);
        const plain = through(way.database, { user: "short", password: users["short"]! }, {
          query: "tls=disabled",
          settings: { pool_timeout: "2s" },
          hopeless: true,
        });
        expect(await plain.then(() => true, () => false)).toBe(false);
      } finally {
        await way.database.admin("SET GLOBAL require_secure_transport=OFF");
      }
    },
  );

  (proxyAbsent() ? test.skip : test)("TLS of the proxy's clients, with its own certificate", async () => {
    const { ca, cert, key } = way.database.certificates!;
    await using proxy = await startProxy({
      upstream: way.database,
      settings: { tls_cert: cert, tls_key: key, client_tls: "required" },
    });
    expect(await look(proxy, "SELECT 7", { tls: { ca: readFileSync(ca), servername: "localhost" } })).toBe("7");
    expect(await look(proxy, "SELECT 1").then(() => "served", () => "refused")).toBe("refused");
    expect(
      await php(
        proxy,
        `$m = mysqli_init(); $m->ssl_set(null, null, '${ca}', null, null); $m->real_connect($place['host'], $place['user'], $place['password'], 'test', $place['port'], null, MYSQLI_CLIENT_SSL); return one($m, 'SELECT 8');`,
      ),
    ).toBe("8");
  });
});
