import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { parseDatabaseUrl, urlParameters } from "../../../plugins/dbproxy/url.ts";

function refused(text: string): string {
  try {
    parseDatabaseUrl(text);
  } catch (error) {
    expect((error as { code?: string }).code).toBe("CONFIG_INVALID");
    return (error as Error).message;
  }
  throw new Error(`taken: ${text}`);
}

describe("parseDatabaseUrl", () => {
  test("reads every part", () => {
    expect(parseDatabaseUrl("mysql://app:secret@db.internal:3307/shop?tls=verify_ca&ca=/etc/ca.pem")).toEqual({
      place: { kind: "tcp", host: "db.internal", port: 3307 },
      user: "app",
      password: "secret",
      database: "shop",
      parameters: { tls: "verify_ca", ca: "/etc/ca.pem" },
    });
  });

  test("needs user and host only", () => {
    for (const text of ["mysql://app@db", "mariadb://app@db/", "MySQL://app@db"]) {
      expect(parseDatabaseUrl(text)).toEqual({
        place: { kind: "tcp", host: "db", port: 3306 },
        user: "app",
        password: undefined,
        database: undefined,
        parameters: {},
      });
    }
    expect(parseDatabaseUrl("mysql://app:@db").password).toBe("");
  });

  test("takes @ : / and # in a password as they are", () => {
    for (const password of ["p@ss", "a@b@c", "a:b", "a/b", "/", "@", "a#b", "a/b@c:d#e"]) {
      const { password: read, place, database } = parseDatabaseUrl(`mysql://app:${password}@db/shop`);
      expect([read, place, database]).toEqual([password, { kind: "tcp", host: "db", port: 3306 }, "shop"]);
    }
  });

  test("decodes %XX as UTF-8 in every part", () => {
    const url = parseDatabaseUrl("mysql://%C3%A4%3Ab:%E2%82%AC%40%3F%25@db/caf%C3%A9%2F1?ca=/a%20b%26c+d");
    expect([url.user, url.password, url.database, url.parameters.ca]).toEqual(["ä:b", "€@?%", "café/1", "/a b&c+d"]);
  });

  test("reads IPv6 with and without a port", () => {
    expect(parseDatabaseUrl("mysql://app@[::1]/x").place).toEqual({ kind: "tcp", host: "::1", port: 3306 });
    expect(parseDatabaseUrl("mysql://app@[fe80::1]:3307").place).toEqual({ kind: "tcp", host: "fe80::1", port: 3307 });
  });

  test("reads a unix socket", () => {
    for (const host of ["localhost", ""]) {
      expect(parseDatabaseUrl(`mysql://app:p@${host}/shop?socket=/run/mysqld/mysqld.sock`)).toMatchObject({
        place: { kind: "unix", path: "/run/mysqld/mysqld.sock" },
        database: "shop",
      });
    }
  });

  test("refuses what it cannot read, and says how it should look", () => {
    expect(refused("db.internal")).toContain('expected a URL such as "mysql://');
    expect(refused("postgres://app@db")).toContain('expected a URL such as "mysql://');
    expect(refused("mysql://db/shop")).toBe("expected a user before the host: mysql://USER:PASSWORD@HOST");
    expect(refused("mysql://:p@db/shop")).toBe("expected a user before the host: mysql://USER:PASSWORD@HOST");
    expect(refused("mysql://app:a?b@db")).toBe('expected "%3F" for the "?" of a password');
    expect(refused("mysql://app:50%@db")).toBe('expected "%25" for a "%" in the password, and UTF-8 behind %XX');
    expect(refused("mysql://app:%C3@db")).toContain("in the password");
    expect(refused("mysql://a%00:p@db")).toBe("expected no NUL in the user");
    expect(refused("mysql://app@")).toBe('expected a host, or "localhost" and ?socket=/PATH');
    expect(refused("mysql://app@::1/x")).toBe('expected a host, or "localhost" and ?socket=/PATH');
    for (const port of ["0", "65536", "99999999999"]) {
      expect(refused(`mysql://app@db:${port}/x`)).toBe("expected a port from 1 to 65535");
    }
    expect(refused("mysql://app@db/a/b")).toBe('expected one name after the host\'s "/"; write "%2F" for a "/" in it');
    expect(refused("mysql://app@db/a?tsl=required")).toBe('unknown parameter after "?"; did you mean "tls"?');
    expect(refused("mysql://app@db/a?timeout=3")).toBe(
      'unknown parameter after "?"; expected tls, ca, cert, key, server_name, charset, socket',
    );
    expect(refused("mysql://app@db?tls=required&tls=disabled")).toBe("expected tls= once");
    expect(refused("mysql://app@db?tls")).toBe("expected a value in tls=");
    expect(refused("mysql://app@db/x?socket=/run/x")).toBe("expected the host localhost beside socket=");
    expect(refused("mysql://app@localhost?socket=x")).toBe("expected the absolute path of a socket in socket=");
  });

  test("gives back whatever was encoded into it", () => {
    const text = fc.string({ unit: "binary", minLength: 1 }).filter((text) =>
      text.isWellFormed() && !text.includes("\0")
    );
    const parameters = fc.dictionary(fc.constantFrom(...urlParameters).filter((name) => name !== "socket"), text);
    const parts = fc.record({
      user: text,
      password: fc.option(text, { nil: undefined }),
      host: fc.constantFrom("db", "db-1.example.org", "10.0.0.1", "[::1]", "[2001:db8::7]"),
      port: fc.option(fc.integer({ min: 1, max: 65_535 }), { nil: undefined }),
      database: fc.option(text, { nil: undefined }),
      parameters,
    });
    fc.assert(fc.property(parts, ({ user, password, host, port, database, parameters }) => {
      const query = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value!)}`).join(
        "&",
      );
      const read = parseDatabaseUrl(
        `mysql://${encodeURIComponent(user)}${
          password === undefined ? "" : `:${encodeURIComponent(password)}`
        }@${host}` +
          (port === undefined ? "" : `:${port}`) + (database === undefined ? "" : `/${encodeURIComponent(database)}`) +
          (query === "" ? "" : `?${query}`),
      );
      expect(read).toEqual({
        place: { kind: "tcp", host: host.replace(/[[\]]/g, ""), port: port ?? 3306 },
        user,
        password,
        database,
        parameters: { ...parameters },
      });
    }));
  });

  test("never shows a password in an error, wherever the mistake is", () => {
    const password = "hunter2-hunter2";
    const mistakes = ["mysql://app:P@", "mysql://app:P%@db", "app:P@db", "mysql://app:P?@db", "mysql://app:P@db:x"];
    for (const text of [...mistakes, "mysql://app:P@db/a/b", "mysql://app:P@db?x=1", "mysql://app:?P=1&P=2@db"]) {
      expect(refused(text.replaceAll("P", password))).not.toContain("hunter2");
    }
  });
});
