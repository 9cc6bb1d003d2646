import { describe, expect, test } from "bun:test";
import { explainConfig } from "../../../cli/explain.ts";
import { configSchema } from "../../../core/config/json_schema.ts";
import { parseConfigFile } from "../../../core/config/read.ts";
import { validate } from "../../../core/config/validate.ts";
import type { Environment } from "../../../core/config/environment.ts";
import { type DatabaseSettings, dbSettings, type DbTable, dbTable } from "../../../plugins/dbproxy/config.ts";
import { configReference } from "../../../scripts/config_reference.ts";

const tables = [{ name: "db", schema: dbTable }];

async function load(text: string, env: Environment = {}) {
  const raw = await parseConfigFile("f.toml", () => text);
  return await validate(raw, tables, { env, readFile: () => "from a file\n" });
}

async function settings(text: string, env: Environment = {}): Promise<readonly DatabaseSettings[]> {
  const table = (await load(text, env)).values["db"] as DbTable;
  return dbSettings(table, { baseDir: "/etc/fairlead", readFile: (path) => `in ${path}\n` }).databases;
}

/** The problems of a file, without its name. */
async function problems(text: string, env: Environment = {}): Promise<string[]> {
  const error = await load(text, env).then(() => undefined, (error) => error);
  expect(error?.code).toBe("CONFIG_INVALID");
  return (error.message as string).split("\n").slice(1).map((line) => line.trim());
}

/** One database of these lines, and what is wrong with it. */
const wrong = async (...lines: string[]) =>
  (await problems(["[db.mysql]", 'url = "mysql://app:hunter2@db/shop"', ...lines].join("\n")))
    .map((line) => line.replace(/^f\.toml:\d+: db\.mysql\./, ""));

const minimal = '[db.mysql]\nurl = "mysql://app:hunter2@db/shop"\nlisten = "127.0.0.1:3306"\n';

describe("[db.mysql]", () => {
  test("is off when it is not there", async () => {
    expect(await settings("")).toEqual([]);
    expect(await settings("[db]\n")).toEqual([]);
  });

  test("has defaults for all but the server and the address", async () => {
    expect(await settings(minimal)).toEqual([{
      name: "mysql",
      server: { kind: "tcp", host: "db", port: 3306 },
      user: "app",
      password: "hunter2",
      database: "shop",
      charset: undefined,
      tls: { mode: "preferred", ca: undefined, cert: undefined, key: undefined, serverName: undefined },
      clientTls: undefined,
      listen: { kind: "tcp", host: "127.0.0.1", port: 3306 },
      socket: undefined,
      socketGroup: undefined,
      auth: "trust",
      users: {},
      unknownUsers: "refuse",
      minConnections: 2,
      maxConnections: 20,
      maxQueue: 1000,
      poolTimeout: 5000,
      connectTimeout: 5000,
      idleTimeout: 300_000,
      maxLifetime: 1_800_000,
      resetStrategy: "smart",
      learn: true,
      slowQuery: 1000,
      digests: 1000,
      inject: true,
    }]);
  });

  test("takes 0 for never, and for no line", async () => {
    expect(await settings(`${minimal}idle_timeout = 0\nmax_lifetime = 0\npool_timeout = 0\n`)).toMatchObject([
      { idleTimeout: Infinity, maxLifetime: Infinity, poolTimeout: 0 },
    ]);
  });

  test("takes everything, paths from the folder of the file", async () => {
    const [db] = await settings(`[db.mysql]
url = "mysql://app@db/shop?tls=verify_identity&ca=ca.pem&cert=/c.pem&key=/k.pem&server_name=db.example&charset=latin1"
password_file = "secret"
listen = "0.0.0.0:3306"
socket = "mysql.sock"
auth = "users"
users = { web = "pw", old = "*0123456789abcdef0123456789ABCDEF01234567" }
unknown_users = "relay"
client_tls = "required"
tls_cert = "cert.pem"
tls_key = "key.pem"
client_ca = "clients.pem"
slow_query = 0
reset_strategy = "never"
`);
    expect(db).toMatchObject({
      password: "in /etc/fairlead/secret",
      charset: "latin1",
      tls: {
        mode: "verify_identity",
        ca: "/etc/fairlead/ca.pem",
        cert: "/c.pem",
        key: "/k.pem",
        serverName: "db.example",
      },
      clientTls: {
        mode: "required",
        cert: "/etc/fairlead/cert.pem",
        key: "/etc/fairlead/key.pem",
        ca: "/etc/fairlead/clients.pem",
      },
      listen: { kind: "tcp", host: "0.0.0.0", port: 3306 },
      socket: "/etc/fairlead/mysql.sock",
      users: { web: "pw", old: "*0123456789abcdef0123456789ABCDEF01234567" },
      unknownUsers: "relay",
      slowQuery: 0,
      resetStrategy: "never",
    });
  });

  test("speaks no TLS over a unix socket", async () => {
    const [db] = await settings(minimal.replace("@db/shop", "@localhost/shop?socket=/s").concat('tls = "required"\n'));
    expect([db?.server, db?.tls.mode]).toEqual([{ kind: "unix", path: "/s" }, "disabled"]);
  });

  test("comes from the environment too, by names of the user's as well", async () => {
    const [db] = await settings("", {
      FAIRLEAD_DB__MYSQL__URL: "mysql://app@db/shop",
      FAIRLEAD_DB__MYSQL__SOCKET: "/s",
      FAIRLEAD_DB__MYSQL__MAX_CONNECTIONS: "7",
      FAIRLEAD_DB__MYSQL__PASSWORD_FILE: "pw",
    });
    expect(db).toMatchObject({ name: "mysql", password: "in /etc/fairlead/pw", socket: "/s", maxConnections: 7 });
    const [shop] = await settings("", {
      FAIRLEAD_DB__MYSQL__SHOP__URL_FILE: "/run/secrets/url",
      FAIRLEAD_DB__MYSQL__SHOP__SOCKET: "/s",
    }).catch((error) => [error.message]);
    expect(shop).toContain('file /run/secrets/url: db.mysql.shop.url: expected a URL such as "mysql://');
    const [blog] = await settings("", {
      FAIRLEAD_DB__MYSQL__BLOG__URL: "mysql://app@db",
      FAIRLEAD_DB__MYSQL__BLOG__PASSWORD_FILE: "pw",
      FAIRLEAD_DB__MYSQL__BLOG__SOCKET: "/s",
    });
    expect(blog).toMatchObject({ name: "blog", password: "in /etc/fairlead/pw" });
  });
});

describe("[db.mysql.NAME]", () => {
  const two = `[db.mysql.shop]
url = "mysql://app@db/shop"
socket = "shop.sock"
[db.mysql.blog]
url = "mysql://app@db/blog"
listen = "127.0.0.1:3307"
max_connections = 3
`;

  test("makes several databases, in the order of the file", async () => {
    const found = await settings(two);
    expect(found.map(({ name, database, maxConnections }) => [name, database, maxConnections]))
      .toEqual([["shop", "shop", 20], ["blog", "blog", 3]]);
  });

  test("names what is wrong in each", async () => {
    expect(await problems(two + 'max_conections = 1\n[db.mysql."a b"]\nurl = "mysql://a@b"\nsocket = "x"\n')).toEqual([
      'f.toml:8: db.mysql.blog.max_conections: unknown key; did you mean "max_connections"?',
      'f.toml:9: db.mysql."a b": expected a name of at most 32 letters, digits, - and _',
    ]);
    expect(await problems(two + '[db.mysql."a b"]\nurl = "mysql://a@b"\nsocket = "x"\n')).toEqual([
      'f.toml:8: db.mysql."a b": expected a name of at most 32 letters, digits, - and _',
    ]);
    expect(await problems('[db.mysql]\nlearn = false\n[db.mysql.a]\nsocket = "s"\n')).toEqual([
      "f.toml:2: db.mysql.learn: expected it in [db.mysql.a] or another: each database has its own settings, got false",
      "f.toml:3: db.mysql.a.url: missing; expected a string",
    ]);
  });

  test("gives no two databases one address", async () => {
    expect(await problems(two.replace('listen = "127.0.0.1:3307"', 'socket = "shop.sock"'))).toEqual([
      'f.toml:6: db.mysql.blog.socket: expected an address of its own: db.mysql.shop has it too, got "shop.sock"',
    ]);
    const port0 = two.replace('socket = "shop.sock"', 'listen = "127.0.0.1:0"').replace(":3307", ":0");
    expect(await settings(port0)).toHaveLength(2);
  });
});

describe("a wrong [db.mysql]", () => {
  test("needs to say where PHP finds it", async () => {
    expect(await wrong()).toEqual([
      'listen: missing; expected where PHP finds the proxy: listen = "127.0.0.1:3306", or socket = "/run/fairlead/mysql.sock"',
    ]);
  });

  test("trusts nobody from elsewhere", async () => {
    for (const at of ["0.0.0.0:3306", ":3306", "[::]:3306", "10.0.0.1:3306", "[2001:db8::1]:3306", "128.0.0.1:1"]) {
      expect(await wrong(`listen = "${at}"`)).toEqual([
        `listen: expected a loopback address beside auth = "trust", which lets everybody in; or write auth = "users", got "${at}"`,
      ]);
    }
    for (const at of ["127.0.0.1:3306", "127.9.9.9:1", "[::1]:3306", "localhost:3306", "[::ffff:127.0.0.1]:1"]) {
      expect(await settings(minimal.replace("127.0.0.1:3306", at))).toHaveLength(1);
    }
  });

  test("is refused where a setting would have no effect, or two contradict each other", async () => {
    const at = 'listen = "127.0.0.1:3306"';
    const users = ['auth = "users"', 'users = { a = "b" }'];
    expect(await wrong(at, 'users = { a = "b" }')).toEqual([
      'auth: missing; expected "users" beside a table of users: "trust" asks nobody for a password',
    ]);
    expect(await wrong(at, 'unknown_users = "relay"')).toEqual([
      'unknown_users: expected auth = "users" beside "relay": "trust" lets everybody in, got "relay"',
    ]);
    expect(await wrong(at, 'auth = "users"')).toEqual([
      'users: missing; expected NAME = "PASSWORD" for at least one user, or unknown_users = "relay"',
    ]);
    expect(await wrong(at, 'socket_group = "x"')).toEqual(['socket_group: expected a socket beside it, got "x"']);
    expect(await wrong(at, "min_connections = 21")).toEqual([
      "min_connections: expected at most max_connections, 20, got 21",
    ]);
    expect(await wrong(at, 'password_file = "x"')).toEqual([
      'password_file: expected a url without a password beside it, got "x"',
    ]);
    expect(await wrong(at, 'tls_cert = "x"')).toEqual([
      "tls_key: missing; expected the file of the private key of tls_cert",
    ]);
    expect(await wrong(at, 'client_tls = "required"')).toEqual([
      'tls_cert: missing; expected a certificate to show to clients: client_tls is "required"',
    ]);
    expect(await wrong(at, 'client_ca = "x"', ...users)).toEqual([
      'client_ca: expected TLS for clients beside it: tls_cert and tls_key, got "x"',
    ]);
    const both =
      (await problems(minimal.replace("/shop", "/shop?tls=required&ca=a") + 'tls = "disabled"\ntls_ca = "b"\n'))
        .map((line) => line.replace(/^.*mysql\./, ""));
    expect(both).toEqual([
      'tls: expected tls once: the url says required, got "disabled"',
      'tls_ca: expected it once: the url has ca=, got "b"',
    ]);
  });

  test("is refused for each unknown value", async () => {
    expect(
      await wrong('reset_strategy = "clever"', 'auth = "none"', 'tls = "yes"', 'listen = "db:3306"', "digests = 1"),
    )
      .toEqual([
        'reset_strategy: expected one of "smart", "always", "never", got "clever"',
        'auth: expected one of "trust", "users", got "none"',
        'tls: expected one of "disabled", "preferred", "required", "verify_ca", "verify_identity", got "yes"',
        'listen: expected ADDRESS:PORT, such as "127.0.0.1:3306" or "[::1]:3306", got "db:3306"',
        "digests: must be at least 10, got 1",
      ]);
    expect(await problems(minimal.replace("/shop", "/shop?tls=maybe&charset=UTF-8&cert=x"))).toEqual([
      "expected one of disabled, preferred, required, verify_ca, verify_identity in tls=",
      "expected the name of a character set in charset=, such as utf8mb4",
      "expected both cert= and key=, or none",
    ].map((text) => `f.toml:2: db.mysql.url: ${text}, got "mysql://app:***@db/shop?tls=maybe&charset=UTF-8&cert=x"`));
  });

  test("is refused for a hash with a digit lost, without showing it", async () => {
    const lost = `*${"a".repeat(39)}`;
    expect(await wrong('listen = "127.0.0.1:1"', 'auth = "users"', `users = { web = "${lost}" }`)).toEqual([
      'users.web: expected a password, or "*" and the 40 hexadecimal digits of its hash',
    ]);
    const [db] = await settings(minimal + 'auth = "users"\nusers = { web = "*stars*" }\n');
    expect(db?.users).toEqual({ web: "*stars*" });
  });

  test("fails when its files cannot be used", () => {
    const url = "mysql://app@db";
    const table = (extra: object) => ({ mysql: { url, users: {}, ...extra } }) as unknown as DbTable;
    const failing = (table: DbTable) => {
      try {
        dbSettings(table, { baseDir: "/none" });
      } catch (error) {
        return `${(error as { code?: string }).code}: ${(error as Error).message}`;
      }
    };
    expect(failing(table({ password_file: "pw" }))).toBe(
      "CONFIG_SECRET: Cannot read /none/pw, named by db.mysql.password_file: no such file",
    );
    expect(failing(table({ socket: "s".repeat(98) }))).toContain(
      "CONFIG_INVALID: db.mysql.socket: expected a path of at most 103 bytes, got /none/sss",
    );
    expect(failing(table({ socket: "s".repeat(97) }))).toBe(undefined);
  });
});

describe("what is shown of [db.mysql]", () => {
  test("has no secret in it", async () => {
    const text = minimal.replace("hunter2", "hun@ter/2") + 'auth = "users"\n[db.mysql.users]\nweb = "hunter3"\n';
    const shown = explainConfig(await load(text));
    expect(shown).toContain('url = "mysql://app:***@db/shop"');
    expect(shown).toContain('[db.mysql.users]\nweb = "***"');
    expect(shown).not.toMatch(/hun|ter/);
    const several = explainConfig(await load(text.replaceAll("[db.mysql", "[db.mysql.main")));
    expect(several).toContain('[db.mysql.main.users]\nweb = "***"');
    expect(several).not.toMatch(/hun|ter/);
  });

  test("hides users that come as JSON, also when it is wrong", async () => {
    const env = { FAIRLEAD_DB__MYSQL__USERS: '{"web": "hunter3"}', FAIRLEAD_DB__MYSQL__AUTH: "users" };
    expect(explainConfig(await load(minimal, env))).toContain('web = "***"');
    expect(await problems(minimal, { FAIRLEAD_DB__MYSQL__USERS: '{"web": "hunter3"' })).toEqual([
      "env FAIRLEAD_DB__MYSQL__USERS: db.mysql.users: expected a table",
    ]);
  });

  test("is a schema for editors that takes both forms, and one row for each key in the documentation", () => {
    const properties = configSchema(tables)["properties"] as { db: { properties: { mysql: Record<string, unknown> } } };
    const { mysql } = properties.db.properties;
    expect(mysql["required"]).toBe(undefined);
    expect(mysql["additionalProperties"]).toMatchObject({ required: ["url"], additionalProperties: false });
    const reference = configReference(tables);
    expect(reference.match(/max_connections` \|/g)).toHaveLength(1);
    expect(reference).toContain("| `mysql.max_connections` | whole number | `20` |");
    expect(reference).toContain("| `mysql.url` | string |  | Required. ");
  });
});
