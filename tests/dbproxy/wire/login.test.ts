import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { CAP } from "../../../plugins/dbproxy/wire/capabilities.ts";
import { decodeGreeting, encodeGreeting } from "../../../plugins/dbproxy/wire/greeting.ts";
import {
  decodeChangeUser,
  decodeLogin,
  encodeChangeUser,
  encodeLogin,
  encodeSslRequest,
  isSslRequest,
} from "../../../plugins/dbproxy/wire/login.ts";
import type { Greeting, Login } from "../../../plugins/dbproxy/wire/packets.ts";
import { bit, bytes, codeOf, hex, name, u16, u32 } from "./support.ts";

const byte = fc.nat(255);
const nonce = fc.uint8Array({ minLength: 20, maxLength: 20, min: 1, max: 127 });

describe("greeting", () => {
  test("MariaDB's: extended capabilities, as it has not the MySQL bit", () => {
    const packet = hex(
      "0a '5.5.5-10.11.19-MariaDB-0+deb12u1' 00 07 01 00 00 'abcdefgh' 00 fe f7 08 02 00 ff 81 15 00 00 00 00 00 00 " +
        "1d 00 00 00 'ijklmnopqrst' 00 'mysql_native_password' 00",
    );
    const greeting: Greeting = {
      version: "5.5.5-10.11.19-MariaDB-0+deb12u1",
      threadId: 263,
      nonce: hex("'abcdefghijklmnopqrst'"),
      capabilities: 0x81fff7fe,
      extended: 0x1d,
      charset: 8,
      status: 2,
      plugin: "mysql_native_password",
    };
    expect(decodeGreeting(packet)).toEqual(greeting);
    expect(encodeGreeting(greeting)).toEqual(packet);
  });

  test("MySQL's: the same bytes are reserved and mean nothing", () => {
    const packet = hex(
      "0a '9.7.4' 00 0b 00 00 00 'abcdefgh' 00 ff ff ff 02 00 ff df 15 00 00 00 00 00 00 " +
        "00 00 00 00 'ijklmnopqrst' 00 'caching_sha2_password' 00",
    );
    const greeting = decodeGreeting(packet) as Greeting;
    expect([greeting.capabilities, greeting.charset, greeting.extended]).toEqual([0xdfffffff, 255, 0]);
    expect(encodeGreeting({ ...greeting, extended: 0x1d })).toEqual(packet);
    expect((decodeGreeting(packet.subarray(0, -1)) as Greeting).plugin).toBe("caching_sha2_password");
  });

  test("an error instead", () => {
    expect(decodeGreeting(hex("ff 10 04 'Too many connections'"))).toEqual({
      code: 1040,
      state: "",
      message: "Too many connections",
    });
  });

  test("another protocol, an id or a nonce that does not fit", () => {
    expect(codeOf(() => decodeGreeting(hex("09 '3.22' 00 01 00 00 00")))).toBe("DB_PROTOCOL");
    expect(codeOf(() => decodeGreeting(hex("'HTTP/1.1 400 Bad Request'")))).toBe("DB_PROTOCOL");
    const good: Greeting = {
      version: "9.7.4",
      threadId: 1,
      nonce: new Uint8Array(20).fill(1),
      capabilities: 0xdfffffff,
      extended: 0,
      charset: 255,
      status: 2,
      plugin: "p",
    };
    expect(codeOf(() => encodeGreeting({ ...good, charset: 2048 }))).toBe("DB_CHARSET");
    expect(codeOf(() => encodeGreeting({ ...good, nonce: new Uint8Array(21).fill(1) }))).toBe("DB_PROTOCOL");
    expect(codeOf(() => encodeGreeting({ ...good, nonce: new Uint8Array(20) }))).toBe("DB_PROTOCOL");
  });

  test("what is encoded is decoded", () => {
    const record = fc.record({
      version: name,
      threadId: u32,
      nonce,
      capabilities: u32.map((caps) => (caps | CAP.PROTOCOL_41 | CAP.SECURE_CONNECTION) >>> 0),
      extended: u32,
      charset: byte,
      status: u16,
      plugin: name,
    });
    fc.assert(fc.property(record, (greeting) => {
      expect(decodeGreeting(encodeGreeting(greeting))).toEqual({
        ...greeting,
        extended: (greeting.capabilities & CAP.CLIENT_MYSQL) === 0 ? greeting.extended : 0,
        plugin: (greeting.capabilities & CAP.PLUGIN_AUTH) === 0 ? "mysql_native_password" : greeting.plugin,
      });
    }));
  });
});

/** PDO's, with a database. */
const pdo = hex(
  "8d a2 1b 00 00 00 00 c0 ff 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 'app' 00 " +
    "02 aa bb 'shop' 00 'mysql_native_password' 00 15 0c '_client_name' 07 'mysqlnd'",
);

describe("login", () => {
  test("mysqlnd's", () => {
    const login = decodeLogin(pdo);
    expect(login).toEqual({
      capabilities: 0x1ba28d,
      extended: 0,
      maxPacket: 0xc0000000,
      charset: 255,
      user: "app",
      auth: hex("aa bb"),
      database: "shop",
      plugin: "mysql_native_password",
      attributes: [["_client_name", "mysqlnd"]],
      zstdLevel: 0,
    });
    expect(encodeLogin(login)).toEqual(pdo);
  });

  test("the end may be missing, as the servers allow", () => {
    const at = (n: number) => decodeLogin(pdo.subarray(0, n));
    const user = 36, auth = user + 3, database = auth + 5, plugin = database + 22;
    expect(at(plugin)).toEqual({ ...decodeLogin(pdo), attributes: [] });
    expect(at(plugin - 1).plugin).toBe("mysql_native_password");
    expect(at(database).plugin).toBe("");
    expect([at(auth).database, at(auth).plugin]).toEqual([undefined, ""]);
    for (let n = 0; n < auth; n++) expect(codeOf(() => at(n))).toBe("DB_PROTOCOL");
    for (let n = auth; n < pdo.length; n++) expect(codeOf(() => at(n))).toBe("none");
  });

  test("an empty database is none; attributes that are malformed end", () => {
    const head = pdo.subarray(0, 39);
    const rest = hex("00 'p' 00 09 01 'a' 01 'b' 05 'c'");
    const login = decodeLogin(new Uint8Array([...head, ...rest]));
    expect([login.database, login.plugin, login.attributes]).toEqual([undefined, "p", [["a", "b"]]]);
  });

  test("a client of before 4.1 is refused", () => {
    expect(codeOf(() => decodeLogin(hex("05 a4 00 00 00 'root' 00 00")))).toBe("DB_PROTOCOL");
  });

  test("a request for TLS is the head alone", () => {
    const login = decodeLogin(pdo);
    const request = encodeSslRequest({ ...login, capabilities: login.capabilities | CAP.SSL });
    expect(request.length).toBe(32);
    expect(isSslRequest(request)).toBe(true);
    expect(isSslRequest(pdo)).toBe(false);
    expect(isSslRequest(pdo.subarray(0, 32))).toBe(false);
    expect(isSslRequest(new Uint8Array([...request, 0]))).toBe(false);
    expect(isSslRequest(hex(""))).toBe(false);
  });

  test("a collation id is never cut", () => {
    const login = decodeLogin(pdo);
    expect(codeOf(() => encodeLogin({ ...login, charset: 256 }))).toBe("DB_CHARSET");
    expect(codeOf(() => encodeSslRequest({ ...login, charset: 2304 }))).toBe("DB_CHARSET");
    const change = { ...login, charset: 2304 };
    expect(decodeChangeUser(encodeChangeUser(change, login.capabilities), login.capabilities).charset).toBe(2304);
    expect(codeOf(() => encodeChangeUser({ ...change, charset: 65536 }, 0))).toBe("DB_CHARSET");
  });

  test("an answer that does not fit its field is refused", () => {
    const login: Login = { ...decodeLogin(pdo), auth: new Uint8Array(256) };
    const lenenc = bit(login.capabilities, CAP.PLUGIN_AUTH_LENENC, true);
    const byteLong = bit(login.capabilities, CAP.PLUGIN_AUTH_LENENC, false);
    expect(decodeLogin(encodeLogin({ ...login, capabilities: lenenc })).auth.length).toBe(256);
    expect(codeOf(() => encodeLogin({ ...login, capabilities: byteLong }))).toBe("DB_PROTOCOL");
    expect(codeOf(() => encodeLogin({ ...login, capabilities: CAP.PROTOCOL_41 }))).toBe("DB_PROTOCOL");
  });

  const attributes = fc.array(fc.tuple(name, name), { maxLength: 4 });
  const database = fc.option(name.filter((s) => s !== ""), { nil: undefined });

  test("what is encoded is decoded", () => {
    const record = fc.record({
      capabilities: u32.map((caps) => bit(bit(caps, CAP.PROTOCOL_41, true), CAP.SECURE_CONNECTION, true)),
      extended: u32,
      maxPacket: u32,
      charset: byte,
      user: name,
      auth: bytes(255),
      database,
      plugin: name,
      attributes,
      zstdLevel: byte,
    });
    fc.assert(fc.property(record, (login) => {
      const has = (cap: number) => (login.capabilities & cap) !== 0;
      expect(decodeLogin(encodeLogin(login))).toEqual({
        ...login,
        extended: has(CAP.CLIENT_MYSQL) ? 0 : login.extended,
        database: has(CAP.CONNECT_WITH_DB) ? login.database : undefined,
        plugin: has(CAP.PLUGIN_AUTH) ? login.plugin : "",
        attributes: has(CAP.CONNECT_ATTRS) ? login.attributes : [],
        zstdLevel: has(CAP.ZSTD_COMPRESSION) ? login.zstdLevel : 0,
      });
    }));
  });

  test("COM_CHANGE_USER", () => {
    const packet = hex("11 'app' 00 02 aa bb 'shop' 00 e0 00 'caching_sha2_password' 00");
    const change = decodeChangeUser(packet, 0x0ba28d);
    expect(change).toEqual({
      user: "app",
      auth: hex("aa bb"),
      database: "shop",
      charset: 224,
      plugin: "caching_sha2_password",
      attributes: [],
    });
    expect(encodeChangeUser(change, 0x0ba28d)).toEqual(packet);
    expect(decodeChangeUser(packet.subarray(0, 13), 0x0ba28d)).toEqual({ ...change, charset: 0, plugin: "" });
    const record = fc.record({ user: name, auth: bytes(255), database, charset: u16, plugin: name, attributes });
    fc.assert(fc.property(record, fc.boolean(), fc.boolean(), (change, plugin, attrs) => {
      const caps = CAP.SECURE_CONNECTION | (plugin ? CAP.PLUGIN_AUTH : 0) | (attrs ? CAP.CONNECT_ATTRS : 0);
      expect(decodeChangeUser(encodeChangeUser(change, caps), caps)).toEqual({
        ...change,
        plugin: plugin ? change.plugin : "",
        attributes: attrs ? change.attributes : [],
      });
    }));
  });
});
