import { describe, expect, test } from "bun:test";
import { ScriptBoard } from "../../../core/script_settings.ts";
import { type DatabaseSettings, dbSettings, type DbTable, dbTable } from "../../../plugins/dbproxy/config.ts";
import { injection } from "../../../plugins/dbproxy/inject.ts";
import { parseDatabaseUrl } from "../../../plugins/dbproxy/url.ts";

const password = "the-database-itself";

function settings(table: object): readonly DatabaseSettings[] {
  const result = dbTable["~standard"].validate({ mysql: table });
  if (result instanceof Promise || result.issues) throw new Error(JSON.stringify(result));
  return dbSettings(result.value as DbTable, { baseDir: "/" }).databases;
}

interface Told {
  readonly table: object;
  readonly ports?: readonly number[];
  readonly own?: Readonly<Record<string, string>>;
}

/** What PHP finds in the end, and the warnings. */
function told({ table, ports = [], own = {} }: Told) {
  const databases = settings(table).map((db, i) => ({
    settings: db,
    listen: db.listen && { host: db.listen.host, port: ports[i] ?? db.listen.port },
    socket: db.socket,
  }));
  const { additions, warnings } = injection(databases);
  const lines: unknown[] = [];
  const board = new ScriptBoard((...line) => void lines.push(line));
  for (const addition of additions) board.add("db", addition);
  const { env, ini } = board.read({ env: own, ini: {} });
  expect(lines).toEqual([]);
  expect(JSON.stringify([additions, warnings])).not.toContain(password);
  return { env, ini, warnings };
}

const url = `mysql://app:${password}@db.internal/shop`;

describe("injection", () => {
  test("over TCP: the bound address, the url's user and no password", () => {
    const { env, ini, warnings } = told({ table: { url, listen: "127.0.0.1:0" }, ports: [4711] });
    expect(env).toEqual({
      DB_HOST: "127.0.0.1",
      DB_PORT: "4711",
      DB_SOCKET: "",
      DB_USERNAME: "app",
      DB_USER: "app",
      DB_PASSWORD: "",
      DB_DATABASE: "shop",
      DB_NAME: "shop",
      MYSQL_HOST: "127.0.0.1",
      MYSQL_PORT: "4711",
      MYSQL_USER: "app",
      MYSQL_PASSWORD: "",
      MYSQL_DATABASE: "shop",
      WORDPRESS_DB_HOST: "127.0.0.1:4711",
      WORDPRESS_DB_USER: "app",
      WORDPRESS_DB_PASSWORD: "",
      WORDPRESS_DB_NAME: "shop",
      DATABASE_URL: "mysql://app@127.0.0.1:4711/shop",
    });
    expect([ini, warnings]).toEqual([{}, []]);
  });

  test("over a unix socket: localhost and PHP's default sockets, which even fixed settings reach", () => {
    const { env, ini } = told({ table: { url, socket: "/run/fairlead/mysql.sock", listen: "127.0.0.1:3306" } });
    expect(env).toMatchObject({
      DB_HOST: "localhost",
      DB_PORT: "3306",
      DB_SOCKET: "/run/fairlead/mysql.sock",
      MYSQL_HOST: "localhost",
      WORDPRESS_DB_HOST: "localhost:/run/fairlead/mysql.sock",
      DATABASE_URL: "mysql://app@localhost/shop?unix_socket=/run/fairlead/mysql.sock",
    });
    expect(ini).toEqual({
      "mysqli.default_socket": "/run/fairlead/mysql.sock",
      "pdo_mysql.default_socket": "/run/fairlead/mysql.sock",
    });
  });

  test("with users: the first whose password is known", () => {
    const users = { old: `*${"0".repeat(40)}`, "we b": "p@ss/word%" };
    const { env, warnings } = told({ table: { url, listen: "0.0.0.0:3306", auth: "users", users } });
    expect(env).toMatchObject({ DB_HOST: "127.0.0.1", DB_USERNAME: "we b", DB_PASSWORD: "p@ss/word%" });
    expect(parseDatabaseUrl(env["DATABASE_URL"]!)).toMatchObject({ user: "we b", password: "p@ss/word%" });
    expect(warnings).toEqual([]);
  });

  test("with hashes only: the address without a login, and a warning", () => {
    const users = { old: `*${"0".repeat(40)}` };
    const { env, warnings } = told({ table: { url, listen: "[::]:3306", auth: "users", users } });
    expect(env).toMatchObject({ DB_HOST: "::1", DB_NAME: "shop" });
    expect(Object.keys(env).filter((name) => /USER|PASSWORD|URL/.test(name))).toEqual([]);
    expect(warnings).toEqual([
      "PHP is told no user for database mysql: its users have hashes only; write DB_USERNAME and DB_PASSWORD in [php.env]",
    ]);
  });

  test("leaves alone what the user has pointed elsewhere, and takes single values of the user's", () => {
    const table = { url, listen: "127.0.0.1:3306" };
    const elsewhere = told({ table, own: { DB_HOST: "other" } }).env;
    expect(Object.keys(elsewhere).filter((name) => name.startsWith("DB_"))).toEqual(["DB_HOST"]);
    expect(elsewhere["MYSQL_HOST"]).toBe("127.0.0.1");
    const named = told({ table, own: { DB_DATABASE: "blog" } }).env;
    expect([named["DB_HOST"], named["DB_DATABASE"], named["DB_NAME"]]).toEqual(["127.0.0.1", "blog", undefined]);
    const login = told({ table, own: { DB_USERNAME: "me", DB_PASSWORD: "mine" } }).env;
    expect([login["DB_HOST"], login["DB_USERNAME"], login["DB_USER"]]).toEqual(["127.0.0.1", "me", undefined]);
  });

  test("of several: the first by the usual names, each by its own", () => {
    const { env } = told({
      table: {
        "my-shop": { url, listen: "127.0.0.1:1" },
        blog: { url: url.replace("shop", "blog"), socket: "/b.sock" },
        hidden: { url, listen: "127.0.0.1:3", inject: false },
      },
    });
    expect(env).toMatchObject({
      DB_PORT: "1",
      MY_SHOP_DB_PORT: "1",
      MY_SHOP_DATABASE_URL: "mysql://app@127.0.0.1:1/shop",
      BLOG_DB_SOCKET: "/b.sock",
      BLOG_DB_NAME: "blog",
      BLOG_DATABASE_URL: "mysql://app@localhost/blog?unix_socket=/b.sock",
    });
    expect(Object.keys(env).some((name) => name.startsWith("HIDDEN_"))).toBe(false);
  });

  test("says nothing when it is told not to, and no schema where there is none", () => {
    expect(told({ table: { url, listen: "127.0.0.1:1", inject: false } })).toEqual({ env: {}, ini: {}, warnings: [] });
    const { env } = told({ table: { url: "mysql://app@db", listen: "127.0.0.1:1" } });
    expect(Object.keys(env).filter((name) => /NAME$|DATABASE$/.test(name))).toEqual(["DB_USERNAME"]);
    expect(env["DATABASE_URL"]).toBe("mysql://app@127.0.0.1:1/");
  });
});
