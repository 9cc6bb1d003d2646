/**
 * Several sites in one server: each host has its own files, scripts and certificate, and nothing of another's comes out, whatever is
 * asked.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:http2";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { connect as tlsConnect, type PeerCertificate } from "node:tls";
import { makeCertificates } from "../support/certificates.ts";
import { freePort } from "../support/ports.ts";
import { ask, type RawResponse } from "../support/raw_http.ts";
import { ReplacedSite } from "../support/replaced_site.ts";
import { hosts, startServer, type TestServer } from "../support/server.ts";
import { allowSlowTests, waitFor } from "../support/wait.ts";

allowSlowTests(60_000);

/** Answers with the site that it stands for, and what it was told. */
const page = (site: string) =>
  `<?php $s = fn($n) => $_SERVER[$n] ?? '-'; echo "php ${site} ", $s('DOCUMENT_ROOT'), ' ', $s('SCRIPT_NAME'), ' ', $s('PATH_INFO'), ' ', $s('SERVER_NAME');`;
const worker =
  `<?php while (frankenphp_handle_request(function () { echo 'worker IN-API ', $_SERVER['DOCUMENT_ROOT']; })) {}`;
const names = `<?php header($_GET['with'] . ': ' . $_GET['what']); echo 'php';`;

const roots: Readonly<Record<string, string>> = { "shop.example": "./shop/public", "blog.example": "./blog/current" };

function makeSites(dir: string): void {
  const file = (name: string, text: string) => {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text);
  };
  file("public/index.php", page("IN-REST"));
  file("public/a.txt", "file IN-REST");
  file("shop/public/index.php", page("IN-SHOP"));
  file("shop/public/a.txt", "file IN-SHOP");
  file("shop/public/shop.txt", "file IN-SHOP");
  file("shop/public/shop.php", page("IN-SHOP"));
  file("shop/public/names.php", names);
  file("shop/storage/s.txt", "storage IN-SHOP");
  file("blog/1/index.php", page("IN-BLOG"));
  file("blog/1/a.txt", "file IN-BLOG");
  file("blog/1/names.php", names);
  file("blog/2/index.php", page("IN-BLOG again"));
  file("blog/2/a.txt", "file IN-BLOG again");
  for (const release of ["blog/1", "blog/2"]) {
    symlinkSync("../../shop/public", join(dir, release, "linked"));
    symlinkSync("../../shop/public/shop.php", join(dir, release, "linked.php"));
  }
  symlinkSync("1", join(dir, "blog/current"));
  file("api/public/a.txt", "file IN-API");
  file("api/worker.php", worker);
}

const tested = hosts().filter((name) => name === "bun" || name === "deno" || name === "binary");
const [first] = tested;
const folder = mkdtempSync(join(tmpdir(), "fairlead-hosts-"));
const pem = makeCertificates(folder);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

for (const host of tested) {
  describe(`several sites on ${host}`, () => {
    const dir = mkdtempSync(join(tmpdir(), "fairlead-hosts-"));
    let server: TestServer, port: number;

    beforeAll(async () => {
      makeSites(dir);
      port = await freePort();
      server = await startServer({
        host,
        dir,
        config: {
          server: {
            public: "./public",
            listen_plain: [`127.0.0.1:${port}`],
            tls: { cert: pem.cert, key: pem.key },
            hosts: {
              "shop.example": {
                public: "./shop/public",
                aliases: ["www.shop.example", "*.shop.example", "elsewhere.example"],
                tls: { cert: pem.otherNameCert, key: pem.otherNameKey },
              },
              "blog.example": { public: "./blog/current", aliases: ["*.blog.shop.example"] },
              "api.example": { public: "./api/public", aliases: ["*.api.example"] },
            },
          },
          static: { hosts: { "shop.example": { internal: { "/kept/": "./shop/storage" } } } },
          php: {
            concurrency: 2,
            pools: { api: { match: { host: ["api.example"] }, script: "api/worker.php", concurrency: 1 } },
          },
          log: { access: "./access.log", format: "json" },
        },
      });
    });
    afterAll(async () => {
      await server?.[Symbol.asyncDispose]();
      rmSync(dir, { recursive: true, force: true });
    });

    const raw = async (lines: string): Promise<RawResponse> =>
      (await ask(port, `${lines}\r\nConnection: close\r\n\r\n`))!;
    const get = async (name: string, path: string): Promise<string> => {
      const response = await raw(`GET ${path} HTTP/1.1\r\nHost: ${name}`);
      return response.status === 200 ? response.text() : String(response.status);
    };

    test("have their own files, scripts, front controller and PATH_INFO", async () => {
      for (let round = 0; round < 2; round++) {
        expect(await get("shop.example", "/a.txt")).toBe("file IN-SHOP");
        expect(await get("blog.example", "/a.txt")).toBe("file IN-BLOG");
        expect(await get("unknown.example", "/a.txt")).toBe("file IN-REST");
        expect(await get("shop.example", "/")).toBe(`php IN-SHOP ${dir}/shop/public /index.php  shop.example`);
        expect(await get("blog.example", "/")).toBe(`php IN-BLOG ${dir}/blog/1 /index.php  blog.example`);
        expect(await get("unknown.example", "/")).toBe(`php IN-REST ${dir}/public /index.php  unknown.example`);
        expect(await get("shop.example", "/shop.php/x/y")).toBe(
          `php IN-SHOP ${dir}/shop/public /shop.php /x/y shop.example`,
        );
        expect(await get("blog.example", "/shop.php/x/y")).toBe("404");
        expect(await get("blog.example", "/shop.txt")).toContain("php IN-BLOG");
        expect(await get("blog.example", "/no/such/page")).toBe(`php IN-BLOG ${dir}/blog/1 /index.php  blog.example`);
      }
    });

    test("are chosen by any of their names, an exact one before a wildcard, the longest wildcard first", async () => {
      const files = (...of: string[]) => Promise.all(of.map((name) => get(name, "/a.txt")));
      expect(
        new Set(
          await files("WWW.Shop.Example", "shop.example.", "shop.example:1", "a.b.shop.example", "elsewhere.example"),
        ),
      )
        .toEqual(new Set(["file IN-SHOP"]));
      expect(new Set(await files("a.blog.shop.example", "blog.example.:80"))).toEqual(new Set(["file IN-BLOG"]));
      expect(new Set(await files("example", "xshop.example", "127.0.0.1", "[::1]:80"))).toEqual(
        new Set(["file IN-REST"]),
      );
    });

    test("have the pool of their name, by aliases too, and no other site has it", async () => {
      for (const name of ["api.example", "API.example.", "v1.api.example"]) {
        expect(await get(name, "/users")).toBe(`worker IN-API ${dir}/api/public`);
        expect(await get(name, "/a.txt")).toBe("file IN-API");
      }
      expect(await get("xapi.example", "/users")).toContain("php IN-REST");
    });

    test("may send what is theirs alone when the application says so", async () => {
      const named = (name: string, header: string, what: string) => get(name, `/names.php?with=${header}&what=${what}`);
      expect(await named("shop.example", "X-Accel-Redirect", "/kept/s.txt")).toBe("storage IN-SHOP");
      expect(await named("shop.example", "X-Sendfile", `${dir}/shop/storage/s.txt`)).toBe("storage IN-SHOP");
      expect(await named("blog.example", "X-Accel-Redirect", "/kept/s.txt")).toBe("php");
      expect(await named("blog.example", "X-Sendfile", `${dir}/shop/storage/s.txt`)).toBe("php");
    });

    test("give out nothing of another site, whatever is asked for", async () => {
      const marks: Readonly<Record<string, string>> = {
        "shop.example": "SHOP",
        "blog.example": "BLOG",
        "unknown.example": "REST",
      };
      const other = ["shop/public", "blog/current", "blog/1", "public", "api/public", "shop/storage"];
      const paths = [
        ...other.flatMap((
          folder,
        ) => [`/../${folder}/a.txt`, `/..%2f${folder}/a.txt`, `/%2e%2e/%2e%2e/${folder}/index.php`]),
        ...other.flatMap((
          folder,
        ) => [`//${folder}/a.txt`, `${dir}/${folder}/a.txt`, `/index.php/../../${folder}/index.php`]),
        ...["/linked/a.txt", "/linked/shop.php", "/linked/", "/linked.php", "/linked.php/x", "/shop.php", "/shop.txt"],
        ...[
          "/kept/s.txt",
          "/kept/../shop.txt",
          "/a.txt",
          "/",
          "/index.php",
          "/shop.example/a.txt",
          "/@shop.example/a.txt",
        ],
      ];
      let answers = 0;
      for (const path of paths) {
        for (const [name, mark] of Object.entries(marks)) {
          const { status } = await raw(`HEAD ${path} HTTP/1.1\r\nHost: ${name}`).catch(() => ({ status: 0 }));
          const text = await get(name, path);
          const wrong = /IN-(\w+)/.exec(text)?.[1];
          expect([name, path, wrong ?? mark, status < 500]).toEqual([name, path, mark, true]);
          answers++;
        }
      }
      expect(answers).toBe(paths.length * 3);
    });

    test("are named by one host, and by nothing else in a request", async () => {
      const refused = [
        "Host: shop.example\r\nHost: blog.example",
        "Host: shop.example\r\nHost: shop.example",
        "Host: shop.example, blog.example",
        "Host: shop.example/../blog.example",
        "Host: shop.example@blog.example",
        "Host: shop.example:99999",
        "Host: shop.example:80:80",
        "Host: shop.example#",
        "Host: shop%2eexample",
        "Host: [::1",
      ];
      for (const lines of refused) {
        const response = await raw(`GET /a.txt HTTP/1.1\r\n${lines}`);
        expect([lines, response.status, response.text().includes("IN-")]).toEqual([lines, 400, false]);
      }
      const others = [
        "X-Forwarded-Host: shop.example",
        "Forwarded: host=shop.example",
        "X-Host: shop.example",
        ":authority: shop.example",
      ];
      for (const line of others) {
        const response = await raw(`GET /a.txt HTTP/1.1\r\nHost: blog.example\r\n${line}`);
        expect([line, response.status === 400 || response.text() === "file IN-BLOG"]).toEqual([line, true]);
      }
      // Bun goes by the field, Deno by the target: script, file and what PHP is told are of one and the same host.
      const file = (await raw("GET http://shop.example/a.txt HTTP/1.1\r\nHost: blog.example")).text();
      const script = (await raw("GET http://shop.example/ HTTP/1.1\r\nHost: blog.example")).text();
      const chosen = host === "deno" ? ["SHOP", "shop"] : ["BLOG", "blog"];
      expect(file).toBe(`file IN-${chosen[0]}`);
      expect(script).toMatch(new RegExp(`^php IN-${chosen[0]} .* ${chosen[1]}\\.example$`));
      expect((await raw("GET /a.txt HTTP/1.0")).text()).toBe("file IN-REST");
    });

    test("have certificates by the name that a client says first; the Host says who answers", async () => {
      const look = (servername: string, name: string) =>
        new Promise<[string, string]>((resolve, reject) => {
          let seen = "", common = "";
          const socket = tlsConnect({ port: server.port, host: "127.0.0.1", servername, rejectUnauthorized: false });
          socket.on("secureConnect", () => {
            common = String((socket.getPeerCertificate() as PeerCertificate).subject?.CN);
            socket.write(`GET /a.txt HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`);
          });
          socket.on("data", (bytes) => seen += bytes).on("error", reject);
          socket.on("close", () => resolve([common, seen.split("\r\n\r\n")[1]!]));
        });
      for (
        const name of ["shop.example", "SHOP.example", "www.shop.example", "any.shop.example", "elsewhere.example"]
      ) {
        expect([name, ...await look(name, name)]).toEqual([name, "elsewhere", "file IN-SHOP"]);
      }
      for (const name of ["blog.example", "unknown.example", ""]) {
        expect((await look(name, "blog.example"))[0]).toBe("server");
      }
      expect(await look("shop.example", "blog.example")).toEqual(["elsewhere", "file IN-BLOG"]);
      expect(await look("blog.example", "shop.example")).toEqual(["server", "file IN-SHOP"]);
    });

    test.skipIf(host === "deno")(
      "are named by :authority where HTTP/2 is spoken, on one connection for all of them",
      async () => {
        const session = connect(`https://127.0.0.1:${server.port}`, {
          rejectUnauthorized: false,
          servername: "shop.example",
        });
        const over = (headers: Record<string, string>) =>
          new Promise<string>((resolve, reject) => {
            let text = "";
            const stream = session.request({ ":path": "/a.txt", ...headers });
            stream.setEncoding("utf8").on("data", (part) => text += part).on("error", reject).on(
              "end",
              () => resolve(text),
            );
          });
        try {
          expect(await over({ ":authority": "shop.example" })).toBe("file IN-SHOP");
          expect(await over({ ":authority": "blog.example:443" })).toBe("file IN-BLOG");
          expect(await over({ ":authority": "unknown.example" })).toBe("file IN-REST");
          expect(await over({ ":authority": "blog.example", ":path": "/shop.txt" })).toContain("php IN-BLOG");
          const both = { ":authority": "blog.example", "host": "shop.example" };
          const [file, script] = [
            await over(both).catch(() => ""),
            await over({ ...both, ":path": "/" }).catch(() => ""),
          ];
          expect(/IN-\w+/.exec(script)?.[0]).toBe(/IN-\w+/.exec(file)?.[0]);
        } finally {
          session.destroy();
        }
      },
    );

    test("are told apart in the access log", async () => {
      const log = () => readFileSync(join(dir, "access.log"), "utf8");
      await waitFor(() => log().includes('"host":"v1.api.example","target":"/users"'), { what: "the line" });
    });

    test("deploy one by one: when a link is turned, that site is new and the others stay", async () => {
      symlinkSync("2", join(dir, "blog/next"));
      renameSync(join(dir, "blog/next"), join(dir, "blog/current"));
      // What the root is, is looked at every 20 ms.
      await waitFor(async () => (await get("blog.example", "/")).startsWith("php IN-BLOG again"), {
        what: "the release",
      });
      expect(await get("blog.example", "/a.txt")).toBe("file IN-BLOG again");
      expect(await get("blog.example", "/linked/a.txt")).not.toContain("IN-SHOP");
      expect(await get("shop.example", "/")).toContain("php IN-SHOP");
    });

    test.skipIf(host !== first)("without server.public, other hosts get 404; a restart takes a new site", async () => {
      const config = (...sites: string[]) => ({
        server: { public: undefined, hosts: Object.fromEntries(sites.map((name) => [name, { public: roots[name] }])) },
        php: { concurrency: 1 },
      });
      await using second = await ReplacedSite.start({ host, config: config("shop.example") });
      makeSites(second.dir);
      const said = async (name: string, path: string) => {
        const head = `GET ${path} HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`;
        const response = (await ask(second.port, head))!;
        return [response.status, /IN-\w+/.exec(response.text())?.[0]];
      };
      for (const path of ["/", "/a.txt", "/index.php", "/shop.php"]) {
        expect([path, ...await said("blog.example", path)]).toEqual([path, 404, undefined]);
      }
      expect(await said("shop.example", "/a.txt")).toEqual([200, "IN-SHOP"]);
      second.configure(config("shop.example", "blog.example"));
      expect((await second.restart()).code).toBe(0);
      for (const path of ["/", "/a.txt"]) {
        expect(await said("blog.example", path)).toEqual([200, "IN-BLOG"]);
        expect(await said("shop.example", path)).toEqual([200, "IN-SHOP"]);
      }
    });
  });
}
