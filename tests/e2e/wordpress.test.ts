/**
 * A real WordPress with a real MariaDB, from its installer to the logout, over HTTP only.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { deflateSync } from "node:zlib";
import { parse } from "smol-toml";
import { Browser } from "../support/cookies.ts";
import { hasMariaDb, type MariaDb, startMariaDb } from "../support/mariadb.ts";
import { freePorts } from "../support/ports.ts";
import { type Config, hosts, startServer, type TestServer } from "../support/server.ts";
import { allowSlowTests, waitFor } from "../support/wait.ts";

allowSlowTests(120_000);

const example = fileURLToPath(new URL("../../examples/wordpress/", import.meta.url));
const admin = { name: "ada", password: "correct horse battery staple", mail: "ada@example.com" };
const secret = "database-password-marker";

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

/** A PNG of `side` squared grey noise: incompressible, so it does not fit into one packet. */
function noisePng(side: number): Uint8Array<ArrayBuffer> {
  const chunk = (type: string, data: Uint8Array) => {
    const body = new Uint8Array([...new TextEncoder().encode(type), ...data]);
    const frame = new DataView(new ArrayBuffer(body.length + 8));
    frame.setUint32(0, data.length);
    new Uint8Array(frame.buffer).set(body, 4);
    frame.setUint32(body.length + 4, crc32(body));
    return new Uint8Array(frame.buffer);
  };
  const header = new DataView(new ArrayBuffer(13));
  header.setUint32(0, side);
  header.setUint32(4, side);
  header.setUint8(8, 8);
  let seed = 1;
  const pixels = Uint8Array.from({ length: side * (side + 1) }, (_, index) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return index % (side + 1) === 0 ? 0 : seed >>> 24;
  });
  const signature = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
  const parts = [
    chunk("IHDR", new Uint8Array(header.buffer)),
    chunk("IDAT", deflateSync(pixels)),
    chunk("IEND", new Uint8Array()),
  ];
  return new Uint8Array([...signature, ...parts.flatMap((part) => [...part])]);
}

function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return ~crc >>> 0;
}

/** The value of a form field in a page. */
function field(html: string, name: string): string {
  const tag = new RegExp(`<input[^>]*\\bname=["']${name}["'][^>]*>`).exec(html)?.[0] ?? "";
  const value = /\bvalue=["']([^"']*)["']/.exec(tag)?.[1];
  if (value === undefined) {
    throw new Error(`No field ${name} in a page titled ${/<title>(.*?)<\/title>/.exec(html)?.[1]}`);
  }
  return value;
}

interface Pool {
  readonly clients: Readonly<Record<string, number>>;
  readonly backends: Readonly<Record<string, number>>;
}

/** Connections that the proxy may have to the database. */
const most = 4;

/** `[db.mysql]`: PHP is told of it by php.ini, since the site says `localhost`. */
function proxyTo({ host, port, user, password }: MariaDb, socket: string) {
  return { url: `mysql://${user}:${password}@${host}:${port}/blog`, socket, max_connections: most };
}

/** Leaves a site nothing that leads to its database: neither its address nor the password. */
function forgetDatabase(file: string): void {
  const put = (text: string, name: string, value: string) =>
    text.replace(new RegExp(`define\\('${name}', '[^']*'\\)`), `define('${name}', '${value}')`);
  writeFileSync(file, put(put(readFileSync(file, "utf8"), "DB_HOST", "localhost"), "DB_PASSWORD", "unknown"));
}

const variants = [...hosts().map((host) => ({ host, proxied: false })), { host: hosts()[0]!, proxied: true }];

for (const { host, proxied } of variants) {
  const through = proxied ? ", its database through the proxy" : "";
  (hasMariaDb() ? describe : describe.skip)(`WordPress on ${host}${through}`, () => {
    let database: MariaDb;
    let server: TestServer;
    let browser: Browser;
    let dir: string;
    let nonce: string;
    const image = noisePng(300);
    const uploaded = { url: "" };
    const post = { link: "" };

    beforeAll(async () => {
      database = await startMariaDb();
      dir = mkdtempSync(join(tmpdir(), "fairlead-wordpress-"));
      chmodSync(dir, 0o755);
      execFileSync("node", [
        join(example, "setup.mjs"),
        ...["--dir", join(dir, "site"), "--cache", join(tmpdir(), "fairlead-test-packages")],
        ...["--db-host", database.host, "--db-port", String(database.port), "--db-user", database.user],
        ...["--db-password", database.password, "--db-name", "blog"],
      ], { stdio: "pipe" });
      const config = parse(readFileSync(join(example, "fairlead.toml"), "utf8")) as Config;
      if (proxied) forgetDatabase(join(dir, "site/wp-config.php"));
      const [port, adminPort] = await freePorts(2);
      server = await startServer({
        host,
        dir,
        config: {
          ...config,
          server: { ...config["server"], listen: [`127.0.0.1:${port}`] },
          admin: { listen: `127.0.0.1:${adminPort}` },
          ...(proxied && { db: { mysql: proxyTo(database, join(dir, "mysql.sock")) } }),
        },
      });
      browser = new Browser(server.url);
    });

    afterAll(async () => {
      await server?.[Symbol.asyncDispose]();
      await database?.stop();
      if (dir) rmSync(dir, { recursive: true, force: true });
    });

    test("a site without tables sends the visitor to the installer", async () => {
      const page = await browser.visit("/");
      expect(page.status).toBe(200);
      expect(page.url.pathname).toBe("/wp-admin/install.php");
      expect(page.text()).toContain("WordPress");
    });

    test("the installer installs", async () => {
      const form = await browser.visit("/wp-admin/install.php?step=1", { form: { language: "" } });
      expect(form.text()).toContain('name="weblog_title"');
      const done = await browser.visit("/wp-admin/install.php?step=2", {
        form: {
          weblog_title: "Fair winds",
          user_name: admin.name,
          admin_password: admin.password,
          admin_password2: admin.password,
          pw_weak: "on",
          admin_email: admin.mail,
          blog_public: "0",
          language: "",
        },
      });
      expect(done.status).toBe(200);
      expect(done.text()).toContain("wp-login.php");
      const home = await browser.visit("/");
      expect(home.status).toBe(200);
      expect(home.text()).toContain("Fair winds");
    });

    test("the dashboard wants a login, and takes one", async () => {
      const turnedAway = await browser.visit("/wp-admin/");
      expect(turnedAway.url.pathname).toBe("/wp-login.php");
      const wrong = await browser.visit("/wp-login.php", { form: { log: admin.name, pwd: "wrong", testcookie: "1" } });
      expect(wrong.text()).toContain("login_error");
      const dashboard = await browser.visit("/wp-login.php", {
        form: { log: admin.name, pwd: admin.password, testcookie: "1", redirect_to: `${server.url}/wp-admin/` },
      });
      expect(dashboard.url.pathname).toBe("/wp-admin/");
      expect(dashboard.status).toBe(200);
      expect(dashboard.text()).toContain("wpadminbar");
      expect(browser.cookieNames.some((name) => name.startsWith("wordpress_logged_in_"))).toBe(true);
    });

    test("pretty permalinks are turned on in the settings form", async () => {
      const form = await browser.visit("/wp-admin/options-permalink.php");
      const saved = await browser.visit("/wp-admin/options-permalink.php", {
        form: {
          _wpnonce: field(form.text(), "_wpnonce"),
          _wp_http_referer: "/wp-admin/options-permalink.php",
          selection: "/%year%/%monthnum%/%postname%/",
          permalink_structure: "/%year%/%monthnum%/%postname%/",
          category_base: "",
          tag_base: "",
        },
      });
      expect(saved.status).toBe(200);
      expect(field(saved.text(), "permalink_structure")).toBe("/%year%/%monthnum%/%postname%/");
    });

    test("the REST API takes a post, at a pretty address of its own", async () => {
      nonce = (await browser.visit("/wp-admin/admin-ajax.php?action=rest-nonce")).text();
      expect(nonce).toMatch(/^[0-9a-f]{10}$/);
      const made = await browser.visit("/wp-json/wp/v2/posts", {
        method: "POST",
        headers: { "content-type": "application/json", "x-wp-nonce": nonce },
        body: JSON.stringify({ title: "Läufer & Leinen — first", content: "Body-marker-4711", status: "publish" }),
      });
      expect(made.status).toBe(201);
      post.link = made.json<{ link: string }>().link;
      expect(new URL(post.link).pathname).toMatch(/^\/\d{4}\/\d{2}\/[^/]+\/$/);
      const anonymous = await browser.visit("/wp-json/wp/v2/posts", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ title: "no" }),
      });
      expect(anonymous.status).toBe(401);
    });

    test("the post is in the database, once", async () => {
      const { createConnection } = await import("mysql2/promise");
      const { host, port, user, password } = database;
      const connection = await createConnection({ host, port, user, password, charset: "utf8mb4" });
      try {
        const [tables] = await connection.query(
          "SELECT table_schema s FROM information_schema.tables WHERE table_name = 'wp_posts'",
        );
        const schema = (tables as { s: string }[])[0]!.s;
        const [rows] = await connection.query(
          `SELECT post_title FROM \`${schema}\`.wp_posts WHERE post_status = 'publish' AND post_content LIKE ?`,
          ["%Body-marker-4711%"],
        );
        expect((rows as { post_title: string }[]).map((row) => row.post_title)).toEqual([
          "Läufer & Leinen — first",
        ]);
      } finally {
        await connection.end();
      }
    });

    test("a stranger reads the post at its permalink", async () => {
      const page = await new Browser(server.url).visit(post.link);
      expect(page.status).toBe(200);
      expect(page.headers.get("content-type")).toBe("text/html; charset=UTF-8");
      expect(page.text()).toContain("Läufer &#038; Leinen — first");
      expect(page.text()).toContain("Body-marker-4711");
    });

    test("a path without its final slash is sent to the one with it, by WordPress", async () => {
      const moved = await new Browser(server.url).visit(post.link.replace(/\/$/, ""), { redirects: 0 });
      expect(moved.status).toBe(301);
      expect(moved.headers.get("location")).toBe(post.link);
    });

    test("an image goes up as a form and comes back byte for byte", async () => {
      const form = new FormData();
      form.set("file", new Blob([image], { type: "image/png" }), "noise.png");
      form.set("title", "Noise");
      const made = await browser.visit("/wp-json/wp/v2/media", {
        method: "POST",
        headers: { "x-wp-nonce": nonce },
        body: form,
      });
      expect([made.status, made.status === 201 ? "" : made.text()]).toEqual([201, ""]);
      uploaded.url = made.json<{ source_url: string }>().source_url;
      const page = await new Browser(server.url).visit(uploaded.url);
      expect(page.status).toBe(200);
      expect(page.headers.get("content-type")).toBe("image/png");
      expect(page.headers.get("content-length")).toBe(String(image.length));
      expect(sha256(page.bytes)).toBe(sha256(image));
    });

    test("the image is not sent again to who has it", async () => {
      const first = await browser.visit(uploaded.url);
      const etag = first.headers.get("etag") ?? "";
      const modified = first.headers.get("last-modified") ?? "";
      expect(etag).not.toBe("");
      for (
        const headers of [
          { "if-none-match": etag },
          { "if-none-match": `"other", ${etag}` },
          { "if-modified-since": modified },
        ] as Record<string, string>[]
      ) {
        const again = await browser.visit(uploaded.url, { headers });
        expect([headers, again.status, again.bytes.length]).toEqual([headers, 304, 0]);
      }
      const other = await browser.visit(uploaded.url, { headers: { "if-none-match": '"other"' } });
      expect(other.status).toBe(200);
      const part = await browser.visit(uploaded.url, { headers: { range: "bytes=10-19" } });
      expect([part.status, sha256(part.bytes)]).toEqual([206, sha256(image.subarray(10, 20))]);
    });

    test("scripts and styles of the package's links are real files", async () => {
      for (
        const path of [
          "/wp-includes/js/underscore.min.js",
          "/wp-includes/js/jquery/jquery.min.js",
          "/wp-includes/css/dashicons.min.css",
        ]
      ) {
        const page = await browser.visit(path);
        expect([path, page.status]).toEqual([path, 200]);
        expect(page.headers.get("content-type")).toMatch(/^(text\/javascript|application\/javascript|text\/css)/);
        expect(page.bytes.length).toBeGreaterThan(5000);
      }
    });

    test("an unknown address is WordPress's own 404", async () => {
      const page = await new Browser(server.url).visit("/no/such/page/");
      expect(page.status).toBe(404);
      expect(page.text()).toContain("Fair winds");
    });

    test("no path shows the configuration, a log or a listing", async () => {
      // Where WordPress's own installer would have put it.
      renameSync(join(dir, "site/wp-config.php"), join(dir, "site/public/wp-config.php"));
      const text = readFileSync(join(dir, "site/public/wp-config.php"), "utf8");
      writeFileSync(join(dir, "site/public/wp-config.php"), text.replace("<?php", `<?php // ${secret}`), {
        mode: 0o644,
      });
      for (
        const path of [
          "/wp-config.php",
          "/wp-config.php/",
          "/wp-config.php/x.css",
          "/wp-config.php%00",
          "/wp-config.php%20",
          "/wp-config.php.",
          "/WP-CONFIG.PHP",
          "/wp-content/..%2fwp-config.php",
          "//wp-config.php",
          "/wp-content/debug.log",
          "/wp-content/uploads/",
          "/wp-includes/",
          "/wp-content/themes/twentytwentythree/",
        ]
      ) {
        const page = await new Browser(server.url).visit(path);
        const shown = [secret, "DB_PASSWORD", database.password, "Index of", "noise.png"].filter((mark) =>
          page.text().includes(mark)
        );
        expect([path, shown]).toEqual([path, []]);
      }
      expect((await browser.visit("/wp-content/debug.log")).status).toBe(404);
      expect((await browser.visit("/")).text()).toContain("Fair winds");
    });

    test("logging out ends the session", async () => {
      const dashboard = await browser.visit("/wp-admin/");
      const link = /href=["']([^"']*action=logout[^"']*)["']/.exec(dashboard.text())?.[1]?.replace(
        /&(amp|#038);/g,
        "&",
      );
      expect(link).toBeTruthy();
      const out = await browser.visit(link!);
      expect(out.status).toBe(200);
      expect(browser.cookieNames.some((name) => name.startsWith("wordpress_logged_in_"))).toBe(false);
      expect((await browser.visit("/wp-admin/")).url.pathname).toBe("/wp-login.php");
    });

    test.skipIf(!proxied)(
      "the proxy needed few connections, answered the settings it knew, and keeps nothing",
      async () => {
        const metrics = await waitFor(async () => {
          const pool = (await (await fetch(`${server.adminUrl}/-/db/pool`)).json() as { databases: Pool[] })
            .databases[0]!;
          const { idle, ...busy } = { ...pool.clients, ...pool.backends };
          if (Object.values(busy).some((count) => count !== 0)) throw new Error(JSON.stringify(pool));
          expect(pool.clients["idle"]).toBe(0);
          expect(idle).toBeLessThanOrEqual(most);
          return await server.metrics();
        }, { what: "the pool to be at rest" });
        const count = (name: string, label: string) =>
          metrics.get(`fairlead_db_${name}_total{db="mysql",${label}}`) ?? 0;
        expect(count("dials", 'outcome="ok"')).toBeLessThanOrEqual(most);
        expect(count("refused", 'reason="timeout"')).toBe(0);
        // Two settings a page, of more than thirty pages; each text went to the server once or twice.
        expect(count("learned", 'kind="set"')).toBeGreaterThan(60);
        expect(await database.admin("SELECT trx_id FROM information_schema.innodb_trx")).toEqual([]);
        const connected = await database.admin("SELECT id FROM information_schema.processlist WHERE command='Sleep'");
        expect(connected.length).toBeLessThanOrEqual(most);
      },
    );
  });
}
