import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { forServerName, readTls } from "../../core/http/tls.ts";
import { type Certificates, makeCertificates } from "../support/certificates.ts";

const dir = mkdtempSync(join(tmpdir(), "fairlead-tls-"));
let pem: Certificates;
beforeAll(() => void (pem = makeCertificates(dir)));
afterAll(() => rmSync(dir, { recursive: true }));

test("certificates are read for the server and for each name of a host", () => {
  const own = { cert: pem.otherNameCert, key: pem.otherNameKey };
  const read = readTls({
    tls: { cert: "server.pem", key: pem.key },
    hosts: { "Shop.example": { aliases: ["*.Shop.example"], tls: own }, "blog.example": { aliases: [] } },
  }, dir)!;
  expect(read.cert).toBe(readFileSync(pem.cert, "utf8"));
  expect([...read.byName.keys()]).toEqual(["shop.example", "*.shop.example"]);
  expect(read.byName.get("shop.example")).toEqual({
    cert: readFileSync(own.cert, "utf8"),
    key: readFileSync(own.key, "utf8"),
  });
  expect(readTls({ hosts: {} }, dir)).toBe(undefined);
});

test("a file may have both, and more than one certificate", () => {
  writeFileSync(join(dir, "all.pem"), [pem.key, pem.cert, pem.ca].map((file) => readFileSync(file, "utf8")).join(""));
  expect(readTls({ tls: { cert: "all.pem", key: "all.pem" } }, dir)?.byName.size).toBe(0);
});

test("what cannot be one is refused, by the key that names it", () => {
  const tls = { cert: pem.cert, key: pem.key };
  const refused = (own: { cert: string; key: string }) => {
    try {
      return readTls({ tls, hosts: { "a.example": { aliases: [], tls: own } } }, dir);
    } catch (error) {
      return `${(error as { code?: string }).code} ${(error as Error).message}`;
    }
  };
  const start = 'TLS_UNUSABLE Cannot use server.hosts."a.example".tls: ';
  expect(refused({ cert: pem.key, key: pem.key })).toBe(`${start}expected a certificate in PEM in the file of cert`);
  expect(refused({ cert: pem.cert, key: pem.cert })).toBe(`${start}expected a private key in PEM in the file of key`);
  expect(refused({ cert: pem.cert, key: pem.otherNameKey }))
    .toBe(`${start}the private key is not that of the certificate, which must be the first of its file`);
  expect(refused({ cert: "none.pem", key: pem.key }))
    .toContain('TLS_UNREADABLE Cannot read server.hosts."a.example".tls.cert: ENOENT');
});

test("a certificate is for the name that a client says, or one label below a wildcard", () => {
  const byName = new Map([["shop.example", 1], ["*.shop.example", 2], ["www.shop.example", 3]]);
  const said = [
    "shop.example",
    "SHOP.example.",
    "www.shop.example",
    "a.shop.example",
    "a.b.shop.example",
    "example",
    "",
  ];
  expect(said.map((name) => forServerName(byName, name))).toEqual([1, 1, 3, 2, undefined, undefined, undefined]);
});
