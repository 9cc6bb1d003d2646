/** What applications that come from nginx or Apache lean on: aliases, subfolders, closed folders, X-Accel-Redirect, WebDAV. @module */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hosts, startServer, type TestServer } from "../../support/server.ts";
import { allowSlowTests } from "../../support/wait.ts";

allowSlowTests(60_000);

for (const host of hosts().filter((name) => name === "bun" || name === "deno" || name === "binary")) {
  describe(`an application moved to ${host}`, () => {
    let server: TestServer;
    let elsewhere: string;

    beforeAll(async () => {
      elsewhere = realpathSync(mkdtempSync(join(tmpdir(), "fairlead-moved-")));
      chmodSync(elsewhere, 0o755);
      const write = (path: string, text: string | Uint8Array) => {
        mkdirSync(join(path, ".."), { recursive: true });
        writeFileSync(path, text);
      };
      write(join(elsewhere, "pma/index.php"), "<?php echo $_SERVER['SCRIPT_NAME'], ' ', basename(__DIR__);");
      write(join(elsewhere, "pma/lib.php"), "<?php echo 'library';");
      write(join(elsewhere, "pma/app.css"), "a {}");
      write(join(elsewhere, "files/big.bin"), new Uint8Array(300_000).fill(65));
      server = await startServer({
        host,
        config: {
          static: {
            deny: ["/app/data/**", "/closed.php"],
            follow: [join(elsewhere, "pma")],
            internal: { "/protected/": join(elsewhere, "files") },
          },
          php: {
            concurrency: 2,
            follow: [join(elsewhere, "pma")],
            deny: ["/pma/lib.php"],
            front_controller: { "/": false, "/app/": "/app/index.php" },
          },
        },
      });
      const site = (name: string) => join(server.dir, "public", name);
      write(site("app/index.php"), "<?php echo 'app ', $_SERVER['REQUEST_URI'];");
      write(site("closed.php"), "<?php echo 'ran';");
      symlinkSync("app/data/run.php", site("harmless.php"));
      write(site("app/data/users.json"), "private");
      write(site("app/data/run.php"), "<?php echo 'ran';");
      write(
        site("send.php"),
        `<?php setcookie('seen', '1'); header('Content-Type: application/x-big'); header('Content-Disposition: attachment');
        header($_GET['by'] === 'accel' ? 'X-Accel-Redirect: /protected/big.bin' : 'X-Sendfile: ${elsewhere}/files/big.bin');
        if (isset($_GET['length'])) header('Content-Length: 300000');
        echo str_repeat('not sent ', (int) ($_GET['noise'] ?? 0));`,
      );
      write(
        site("dav.php"),
        `<?php header('X-Method: ' . $_SERVER['REQUEST_METHOD']); http_response_code(207);
        echo ($_SERVER['PATH_INFO'] ?? ''), ' ', $_SERVER['HTTP_DEPTH'] ?? '-', ' ', $_SERVER['HTTP_DESTINATION'] ?? '-', ' ',
          $_SERVER['PHP_AUTH_USER'] ?? '-', ':', $_SERVER['PHP_AUTH_PW'] ?? '-', ' ', strlen(file_get_contents('php://input'));`,
      );
      symlinkSync(join(elsewhere, "pma"), site("pma"));
    });
    afterAll(async () => {
      await server?.[Symbol.asyncDispose]();
      rmSync(elsewhere, { recursive: true, force: true });
    });

    const get = async (path: string, init: RequestInit = {}) => {
      const response = await fetch(`${server.url}${path}`, { redirect: "manual", ...init });
      return { response, status: response.status, text: await response.text() };
    };
    const said = async (path: string) => {
      const { status, text } = await get(path);
      return `${status} ${text}`;
    };

    test("an application outside of the public root runs through a link", async () => {
      expect(await said("/pma/")).toBe("200 /pma/index.php pma");
      expect(await said("/pma/app.css")).toBe("200 a {}");
      expect((await get("/pma")).response.headers.get("location")).toBe("/pma/");
      expect(await said("/pma/lib.php")).toBe("403 403 Forbidden\n");
    });

    test("a subfolder has pretty addresses of its own", async () => {
      expect(await said("/app/some/page?x=1")).toBe("200 app /app/some/page?x=1");
      expect((await get("/some/page")).status).toBe(404);
    });

    test("closed folders stay closed, for files and for scripts", async () => {
      for (
        const path of [
          "/app/data/users.json",
          "/app/data/run.php",
          "/app/data/",
          "/app//data/%75sers.json",
          "/closed.php",
          "/closed.php/",
          "/harmless.php",
        ]
      ) {
        expect([path, (await get(path)).status]).toEqual([path, 403]);
      }
      expect((await get("/protected/big.bin")).status).toBe(404);
    });

    for (const by of ["accel&noise=0", "accel&noise=50000", "sendfile", "sendfile&length"]) {
      test(`a file goes out in the place of PHP's body (${by})`, async () => {
        const { response, text } = await get(`/send.php?by=${by}`);
        const { headers } = response;
        expect([response.status, text.length, headers.get("content-type"), headers.get("content-length")])
          .toEqual([200, 300_000, "application/x-big", "300000"]);
        expect([headers.get("content-disposition"), headers.get("set-cookie")?.startsWith("seen=1")])
          .toEqual(["attachment", true]);
        expect([headers.has("x-accel-redirect"), headers.has("x-sendfile")]).toEqual([false, false]);
        const part = await get(`/send.php?by=${by}`, { headers: { range: "bytes=10-19" } });
        expect([part.status, part.text]).toEqual([206, "A".repeat(10)]);
      });
    }

    test("WebDAV's methods, their headers and basic credentials reach PHP", async () => {
      const authorization = `Basic ${btoa("joe:pa:ss")}`;
      for (const method of ["PROPFIND", "MKCOL", "COPY", "LOCK", "REPORT", "PUT", "DELETE", "OPTIONS"]) {
        const headers = { authorization, depth: "1", destination: "/dav.php/b" };
        const body = ["PROPFIND", "LOCK", "REPORT", "PUT"].includes(method) ? "<x/>" : undefined;
        const { response, status, text } = await get("/dav.php/a%20b/.hidden", {
          method,
          headers,
          ...(body === undefined ? {} : { body }),
        });
        expect([method, status, response.headers.get("x-method")]).toEqual([method, 207, method]);
        expect(text).toBe(`/a b/.hidden 1 /dav.php/b joe:pa:ss ${body?.length ?? 0}`);
      }
    });
  });
}
