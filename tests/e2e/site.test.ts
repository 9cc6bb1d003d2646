/** Headers, redirects and access for files and PHP, on every host, over real connections. @module */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ask, RawClient, type RawResponse } from "../support/raw_http.ts";
import { hosts, runToExit, startServer, type TestServer } from "../support/server.ts";
import { allowSlowTests, waitFor } from "../support/wait.ts";

allowSlowTests(60_000);

/** All of them mean "secret". */
const users: Readonly<Record<string, string>> = {
  anna: "$2y$10$zwNJQ7A0XDbJaZ0RDA73Yu0dTfiWvrPmkc.9hts3caKtjXvlfPgfG",
  bert: "$6$saltsalt$TVLlQcbpFVof5W3Yz4DTP6gRstiNuHwwTt6GLc1E5n0U0aDehy0S5knV8wiOQSpT0Y77vwPZN.Pq.H91p5hVO1",
  carl: "$apr1$saltsalt$LrttParrLPdxvgutaSXWJ0",
  dora: "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=",
};
const basic = (user: string, password = "secret") => `Authorization: Basic ${btoa(`${user}:${password}`)}`;
const usersText = (names: readonly string[]) => names.map((name) => `${name}:${users[name]}\n`).join("");

for (const host of hosts().filter((name) => name === "bun" || name === "deno" || name === "binary")) {
  describe(`the rules of a site on ${host}`, () => {
    let server: TestServer;
    const made: string[] = [];

    beforeAll(async () => {
      server = await startServer({
        host,
        config: {
          server: {
            trusted_proxies: ["127.0.0.1"],
            trusted_headers: ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"],
          },
          php: { concurrency: 2 },
          compress: { enabled: true },
          static: { deny: ["/denied/**"] },
          site: {
            headers: [
              { scheme: "https", set: { "Strict-Transport-Security": "max-age=31536000" } },
              { set: { "X-Frame-Options": "DENY" }, default: { "X-App": "none" }, remove: ["X-Powered-By"] },
              { match: "/keep/**", set: { "Cache-Control": "no-transform" } },
            ],
            redirects: [
              { from: "/**", host: ["www.shop.example"], to: "https://shop.example$path", status: 301 },
              { from: "/**", host: ["secure.example"], scheme: "http", to: "https://$host$path", status: 308 },
              { from: "/go/**", to: "/$1" },
              { from: "/old/:id", to: "/page.php?id=$id", status: 301 },
              { from: "/admin/old", to: "/admin/new" },
            ],
            access: [
              { match: "/admin/open.txt", allow: ["all"] },
              { match: "/admin", auth: { realm: "Staff", users_file: "./users" } },
              { match: "/hidden.php", auth: { users_file: "./users", hide: true } },
              { match: "/inner", allow: ["10.0.0.0/8", "::1"], deny: ["10.6.6.6"] },
              { match: "/either", allow: ["10.0.0.0/8"], auth: { users_file: "./users" }, satisfy: "any" },
            ],
          },
        },
        ...site(),
      });
    });
    afterAll(async () => {
      await server?.[Symbol.asyncDispose]();
      for (const dir of made) rmSync(dir, { recursive: true, force: true });
    });

    function site() {
      const dir = mkdtempSync(join(tmpdir(), "fairlead-site-"));
      made.push(dir);
      const file = (name: string, text: string) => {
        mkdirSync(join(dir, name, ".."), { recursive: true });
        writeFileSync(join(dir, name), text);
      };
      const says =
        `echo json_encode([$_SERVER['REQUEST_URI'], $_SERVER['PHP_AUTH_USER'] ?? null, $_SERVER['HTTP_AUTHORIZATION'] ?? null]);`;
      file("users", usersText(Object.keys(users)));
      file("public/page.php", `<?php header('X-App: page'); header('X-Frame-Options: SAMEORIGIN'); ${says}`);
      file(
        "public/long.php",
        "<?php while (ob_get_level()) ob_end_flush(); for ($i = 0; $i < 200; $i++) { echo str_repeat('a line of text ', 50), \"\\n\"; flush(); }",
      );
      file("public/die.php", "<?php exec('kill -9 ' . getmypid());");
      file("public/index.php", `<?php ${says}`);
      file("public/hidden.php", `<?php ${says}`);
      file("public/app.css", "a { color: red }\n".repeat(1000));
      file("public/keep/app.css", "a { color: red }\n".repeat(1000));
      file("public/denied/a.txt", "denied");
      for (
        const name of [
          "admin/index.html",
          "admin/secret.txt",
          "admin/run.php",
          "admin/deep/a.txt",
          "inner/a.txt",
          "either/a.txt",
        ]
      ) {
        file(`public/${name}`, "SECRET-MARKER");
      }
      file("public/admin/open.txt", "open");
      file("public/folder/index.html", "a folder");
      return { dir };
    }

    async function get(target: string, ...headers: string[]): Promise<RawResponse> {
      const lines = headers.some((line) => /^host:/i.test(line)) ? headers : ["Host: shop.example", ...headers];
      return (await ask(server.port, `GET ${target} HTTP/1.1\r\n${lines.join("\r\n")}\r\nConnection: close\r\n\r\n`))!;
    }
    const location = async (...asked: Parameters<typeof get>) => {
      const { status, header } = await get(...asked);
      return [status, header("location")];
    };

    test("headers are on every answer, whoever gives it", async () => {
      const targets: readonly [target: string, status: number, ...headers: string[]][] = [
        ["/app.css", 200],
        ["/app.css", 206, "Range: bytes=0-3"],
        ["/app.css", 416, "Range: bytes=99999999-"],
        ["/page.php", 200],
        ["/long.php", 200],
        ["/long.php", 200, "Accept-Encoding: gzip"],
        ["/nothing.txt", 404],
        ["/denied/a.txt", 403],
        ["/admin", 401],
        ["/inner", 403],
        ["/go/x", 302],
        ["/folder", 301],
        ["/die.php", 502],
      ];
      for (const [target, status, ...headers] of targets) {
        const response = await get(target, ...headers);
        const said = [
          target,
          response.status,
          response.all("x-frame-options"),
          response.all("x-app"),
          response.all("x-powered-by"),
        ];
        expect(said).toEqual([target, target === "/nothing.txt" ? response.status : status, ["DENY"], [
          target === "/page.php" ? "page" : "none",
        ], []]);
        expect(response.complete).toBe(true);
      }
    });

    test("HSTS is said over https only, as the proxy tells", async () => {
      expect((await get("/page.php")).header("strict-transport-security")).toBe(undefined);
      expect((await get("/page.php", "X-Forwarded-Proto: https")).header("strict-transport-security")).toBe(
        "max-age=31536000",
      );
    });

    test("a file that is unchanged is so with headers and compressed; what rules say counts for compression", async () => {
      const css = await get("/app.css", "Accept-Encoding: gzip");
      expect([css.header("content-encoding"), css.header("vary")]).toEqual(["gzip", "Accept-Encoding"]);
      const again = await get("/app.css", "Accept-Encoding: gzip", `If-None-Match: ${css.header("etag")}`);
      expect([again.status, again.header("etag"), again.header("x-frame-options"), again.header("x-app")]).toEqual([
        304,
        css.header("etag"),
        "DENY",
        undefined,
      ]);
      const kept = await get("/keep/app.css", "Accept-Encoding: gzip");
      expect([kept.header("content-encoding"), kept.header("cache-control")]).toEqual([undefined, "no-transform"]);
    });

    test("redirects know host, scheme, captures and query", async () => {
      expect(await location("/a?b=1", "Host: www.shop.example:8080")).toEqual([301, "https://shop.example/a?b=1"]);
      expect(await location("/a", "Host: secure.example")).toEqual([308, "https://secure.example/a"]);
      expect(await location("/a", "Host: x", "X-Forwarded-Host: secure.example")).toEqual([
        308,
        "https://secure.example/a",
      ]);
      expect((await get("/page.php", "Host: secure.example", "X-Forwarded-Proto: https")).status).toBe(200);
      expect(await location("/old/7?x=y")).toEqual([301, "/page.php?id=7&x=y"]);
      expect(await location("/old/7/8")).toEqual([200, undefined]);
    });

    test("and never lead where a client wants", async () => {
      for (
        const path of [
          "//evil.example",
          "/%2fevil.example",
          "/%5cevil.example",
          "\\evil.example",
          "/.//evil.example",
          "/x/..//evil.example",
          "/%0d%0aSet-Cookie:%20a=b",
        ]
      ) {
        const response = await get(`/go/${path}`);
        if (response.status === 400) continue;
        expect([path, response.status, response.header("set-cookie")]).toEqual([path, 302, undefined]);
        expect(new URL(response.header("location")!, "http://shop.example").host).toBe("shop.example");
      }
    });

    test("who says the right password comes in, by any kind of hash", async () => {
      for (const name of Object.keys(users)) {
        expect([name, (await get("/admin/secret.txt", basic(name))).status]).toEqual([name, 200]);
        expect([name, (await get("/admin/secret.txt", basic(name, "wrong"))).status]).toEqual([name, 401]);
      }
      const asked = await get("/admin/secret.txt");
      expect([asked.status, asked.header("www-authenticate")]).toEqual([401, 'Basic realm="Staff", charset="UTF-8"']);
      expect((await get("/admin/secret.txt", basic("nobody"))).status).toBe(401);
      expect((await get("/admin/open.txt")).text()).toBe("open");
    });

    test("no spelling of its path shows what is closed, and no redirect is told before the password", async () => {
      const before = ["/", "//", "/./", "/x/../", "/%2e/", "/%2F", "/..%2f", "/\\"];
      const names = ["admin", "%61dmin", "adm%69n", "a%64min"];
      const after = [
        "",
        "/",
        "//",
        "/index.html",
        "/./secret.txt",
        "%2fsecret.txt",
        "/deep/../secret.txt",
        "/deep/%2e%2e/secret.txt",
        "\\secret.txt",
        "/run.php",
        "/run.php/info",
        "/;/secret.txt",
        "/secret.txt?x",
        "/secret.txt#x",
        "/old",
      ];
      for (const target of before.flatMap((b) => names.flatMap((n) => after.map((a) => b + n + a)))) {
        const response = await ask(
          server.port,
          `GET ${target} HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n`,
        );
        if (response === undefined) continue;
        expect(response.text()).not.toContain("SECRET-MARKER");
        expect([target, [400, 401].includes(response.status)]).toEqual([target, true]);
      }
      for (
        const form of [
          "http://shop.example/admin/secret.txt",
          "http://other/x/../admin/secret.txt",
          // What a front controller takes for the same.
          "/index.php/admin/x",
          "/page.php//%61dmin",
          "/admin/x/..%2f..%2fpage.php",
        ]
      ) {
        expect([form, (await get(form)).status]).toEqual([form, 401]);
      }
      expect(await location("/admin/old", basic("dora"))).toEqual([302, "/admin/new"]);
    });

    test("addresses are those of clients, behind the proxy too", async () => {
      const from = async (path: string, address: string) => (await get(path, `X-Forwarded-For: ${address}`)).status;
      expect(await from("/inner/a.txt", "10.1.2.3")).toBe(200);
      expect(await from("/inner/a.txt", "::ffff:10.1.2.3")).toBe(200);
      expect(await from("/inner/a.txt", "::1")).toBe(200);
      expect(await from("/inner/a.txt", "10.6.6.6")).toBe(403);
      expect(await from("/inner/a.txt", "192.0.2.1")).toBe(403);
      expect(await from("/inner/a.txt", "10.1.2.3, 192.0.2.1")).toBe(403);
      expect(await from("/either/a.txt", "10.1.2.3")).toBe(200);
      expect(await from("/either/a.txt", "192.0.2.1")).toBe(401);
      expect((await get("/either/a.txt", "X-Forwarded-For: 192.0.2.1", basic("dora"))).status).toBe(200);
    });

    test("PHP gets the credentials, where they are not hidden", async () => {
      const said = async (path: string) => JSON.parse((await get(path, basic("dora"))).text());
      expect(await said("/page.php")).toEqual(["/page.php", "dora", basic("dora").slice("Authorization: ".length)]);
      expect(await said("/hidden.php")).toEqual(["/hidden.php", null, null]);
      expect(await said("/hidden.php/info")).toEqual(["/hidden.php/info", null, null]);
    });

    test("a body that nobody reads does not become the next request", async () => {
      const smuggled = "GET /page.php?smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
      for (const [path, status] of [["/admin/x", 401], ["/inner/x", 403], ["/go/x", 302]] as const) {
        const client = await RawClient.connect(server.port);
        await client.send(
          `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${smuggled.length}\r\n\r\n${smuggled}` +
            "GET /denied/a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        );
        expect((await client.read())?.status).toBe(status);
        // The next one is what was meant to be next, if the connection was kept.
        expect([403, undefined]).toContain((await client.read())?.status);
        client.socket.destroy();
      }
    });

    test("a flood of wrong passwords holds up neither others nor who is known", async () => {
      expect((await get("/admin/secret.txt", basic("anna"))).status).toBe(200);
      const flood = Array.from(
        { length: 100 },
        (_, i) => get("/admin/x", `X-Forwarded-For: 198.51.100.${i % 50}`, basic("anna", `wrong${i}`)),
      );
      let slowest = 0;
      for (let i = 0; i < 20; i++) {
        const began = performance.now();
        expect((await get("/admin/secret.txt", basic("anna"))).status).toBe(200);
        expect((await get("/app.css")).status).toBe(200);
        slowest = Math.max(slowest, performance.now() - began);
      }
      const statuses = (await Promise.all(flood)).map((response) => response.status);
      expect(new Set(statuses)).toEqual(new Set([401, 503]));
      // Hashing them all takes seconds.
      expect(slowest).toBeLessThan(1000);
      const refused = (await server.metrics()).get('fairlead_site_refused_total{reason="busy"}');
      expect(refused).toBe(statuses.filter((status) => status === 503).length);
    });

    test("a file of users that changes counts without a restart, and one that is broken does not", async () => {
      writeFileSync(join(server.dir, "users"), usersText(["carl"]));
      await waitFor(async () => (await get("/admin/secret.txt", basic("dora"))).status === 401, {
        what: "dora to be gone",
      });
      expect((await get("/admin/secret.txt", basic("anna"))).status).toBe(401);
      writeFileSync(join(server.dir, "users"), "broken\n");
      await waitFor(async () => {
        expect((await get("/admin/secret.txt", basic("carl"))).status).toBe(200);
        return server.output().includes("Cannot read the users again");
      }, { what: "a word about the broken file" });
      expect((await get("/admin/secret.txt", basic("carl"))).status).toBe(200);
    });

    test("what cannot be is told at the start", async () => {
      const dir = site().dir;
      writeFileSync(join(dir, "users"), "anna:plain\n");
      const rule = { match: "/admin", auth: { users_file: "./users" } };
      const exit = await runToExit({ host, dir, config: { site: { access: [rule] }, php: { concurrency: 1 } } });
      expect(exit.code).toBe(1);
      expect(exit.output).toContain('users:1: cannot use the hash of "anna"');
      const loop = await runToExit({ host, dir, config: { site: { redirects: [{ from: "/a/**", to: "/a/b/$1" }] } } });
      expect(loop.code).toBe(2);
      expect(loop.output).toContain("site.redirects[0].to: must come to an end, and leads /a/x -> /a/b/x");
    });
  });
}
