import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Secret } from "../../../plugins/dbproxy/auth/dialogue.ts";
import { rsaKeys } from "../../../plugins/dbproxy/auth/rsa.ts";
import { nativeHash } from "../../../plugins/dbproxy/auth/scramble.ts";
import { serverDialogue, Sha2Cache, trustDialogue } from "../../../plugins/dbproxy/auth/server_dialogue.ts";
import { listen, type Listening } from "../../../plugins/dbproxy/net/listen.ts";
import { tlsServerContext } from "../../../plugins/dbproxy/net/tls.ts";
import { type Certificates, makeCertificates } from "../../support/certificates.ts";
import { mysql9Absent, mysql9Root } from "../../support/mysql9.ts";
import { allowSlowTests } from "../../support/wait.ts";
import { serveDoor } from "./packets.ts";

allowSlowTests(120_000);

const users: Readonly<Record<string, Secret>> = {
  plain: { password: "secret" },
  hashed: { native: nativeHash("secret") },
  empty: { password: "" },
};

const dir = mkdtempSync(join(tmpdir(), "fairlead-clients-"));
const doors: Listening[] = [];
const verdicts: { readonly kind: string; readonly plugin: string; readonly encrypted: boolean }[] = [];
let certificates: Certificates;
/** Ports by the plugin that the greeting names. */
const ports: Record<string, number> = {};

beforeAll(async () => {
  certificates = makeCertificates(dir);
  const tls = tlsServerContext({
    cert: readFileSync(certificates.cert, "utf8"),
    key: readFileSync(certificates.key, "utf8"),
  });
  for (const name of ["caching_sha2_password", "mysql_native_password", "trust"]) {
    const plugin = name === "trust" ? "caching_sha2_password" : name;
    const cache = new Sha2Cache();
    const door = await listen({ kind: "tcp", host: "127.0.0.1", port: 0 }, {}, (socket) => {
      void serveDoor(socket, {
        plugin,
        tls,
        dialogue: (login) =>
          name === "trust"
            ? trustDialogue()
            : serverDialogue({ ...login, secret: users[login.user], plugin, keys: rsaKeys, cache }),
        onVerdict: (verdict) => verdicts.push(verdict),
      });
    });
    doors.push(door);
    ports[name] = (door.place as { port: number }).port;
  }
});
afterAll(async () => {
  for (const door of doors) await door.close();
  rmSync(dir, { recursive: true, force: true });
});

function run(program: string, args: readonly string[]): Promise<{ readonly ok: boolean; readonly output: string }> {
  return new Promise((resolve) =>
    execFile(
      program,
      args,
      { timeout: 30_000 },
      (error, stdout, stderr) => resolve({ ok: error === null, output: `${stdout}${stderr}` }),
    )
  );
}

interface Client {
  readonly name: string;
  readonly absent: boolean;
  connect(port: number, user: string, password: string, tls: boolean): ReturnType<typeof run>;
}

function has(program: string, ...args: string[]): boolean {
  try {
    return execFileSync(program, args, { stdio: "pipe" }) !== undefined;
  } catch {
    return false;
  }
}

const at = (port: number, user: string) => ["--no-defaults", "-h127.0.0.1", `-P${port}`, `-u${user}`, "-e", "DO 1"];
const php = `mysqli_report(MYSQLI_REPORT_OFF);
[, $port, $user, $password, $tls] = $argv;
$link = mysqli_init();
if (!$link->real_connect("127.0.0.1", $user, $password, "", (int) $port, null,
    $tls ? MYSQLI_CLIENT_SSL | MYSQLI_CLIENT_SSL_DONT_VERIFY_SERVER_CERT : 0)) { echo mysqli_connect_error(); exit(1); }
exit($link->query("DO 1") ? 0 : 1);`;

const clients: readonly Client[] = [
  {
    name: "PHP's mysqli",
    absent: !has("php", "-r", "exit(extension_loaded('mysqli') ? 0 : 1);"),
    connect: (port, user, password, tls) => run("php", ["-r", php, "--", `${port}`, user, password, tls ? "1" : ""]),
  },
  {
    name: "the command line of MariaDB",
    absent: !has("mariadb", "--version"),
    connect: (port, user, password, tls) =>
      run("mariadb", [
        ...at(port, user),
        `--password=${password}`,
        ...(tls ? ["--ssl", `--ssl-ca=${certificates.ca}`] : ["--skip-ssl"]),
      ]),
  },
  {
    name: "the command line of MySQL 9",
    absent: mysql9Absent() !== undefined || !existsSync(join(mysql9Root, "usr/bin/mysql")),
    connect: (port, user, password, tls) =>
      run("chroot", [
        mysql9Root,
        "mysql",
        ...at(port, user),
        `--password=${password}`,
        ...(tls ? ["--ssl-mode=REQUIRED"] : ["--ssl-mode=DISABLED", "--get-server-public-key"]),
      ]),
  },
];

for (const client of clients) {
  (client.absent ? describe.skip : describe)(`${client.name}${client.absent ? " (not here)" : ""}`, () => {
    for (const plugin of ["caching_sha2_password", "mysql_native_password"]) {
      test(`logs in where the greeting names ${plugin}, with the right password only`, async () => {
        for (const tls of [false, true]) {
          // The hashed one twice: the second time its hash is in the cache.
          for (
            const [user, password] of [["plain", "secret"], ["hashed", "secret"], ["hashed", "secret"], ["empty", ""]]
          ) {
            const result = await client.connect(ports[plugin]!, user!, password!, tls);
            expect([user, tls, result]).toEqual([user, tls, { ok: true, output: expect.any(String) }]);
            expect(verdicts.at(-1)).toMatchObject({ kind: "accepted", encrypted: tls });
          }
          for (
            const [user, password] of [["hashed", "wrong"], ["plain", ""], ["nobody", "secret"]]
          ) {
            const result = await client.connect(ports[plugin]!, user!, password!, tls);
            expect([user, tls, result.ok]).toEqual([user, tls, false]);
            expect(result.output).toContain("Access denied");
            expect(verdicts.at(-1)).toMatchObject({ kind: "refused", encrypted: tls });
          }
        }
      });
    }

    test("is let in by a server that trusts", async () => {
      for (const tls of [false, true]) {
        for (const password of ["", "anything"]) {
          const result = await client.connect(ports["trust"]!, "whoever", password, tls);
          expect([tls, password, result.ok, result.output]).toEqual([tls, password, true, expect.any(String)]);
        }
      }
    });
  });
}
