/**
 * What an attacker may ask for: no secret file, no PHP source and no forbidden script may show, and what is right still works.
 *
 * @module
 */
import { describe, expect, test } from "bun:test";
import { get, hidden, hostileSite, post, RAN, showsNothing } from "../support/hostile.ts";
import { ask, RawClient } from "../support/raw_http.ts";
import { hosts } from "../support/server.ts";
import { allowSlowTests } from "../support/wait.ts";

allowSlowTests(30_000);

const refused = [400, 403, 404];

/** Targets that must show nothing, whatever the status among those that refuse. */
const forbiddenTargets: Readonly<Record<string, readonly string[]>> = {
  "leaves the root": [
    "/../secret.txt",
    "/sub/../../secret.txt",
    "/sub/../../../../../../../../etc/passwd",
    "/%2e%2e/secret.txt",
    "/%2E%2e/secret.txt",
    "/.%2e/secret.txt",
    "/sub/%2e%2e/%2e%2e/secret.txt",
    "/..%2fsecret.txt",
    "/sub/..%2f..%2fsecret.txt",
    "/%2e%2e%2fsecret.txt",
    "/..\\secret.txt",
    "/%2e%2e%5csecret.txt",
    "/..%5csecret.txt",
    "/..%5c..%5c..%5csecret.txt",
    "/%252e%252e/secret.txt",
    "/%252e%252e%252fsecret.txt",
    "/..%255csecret.txt",
    "/%c0%ae%c0%ae/secret.txt",
    "/%e0%80%ae%e0%80%ae/secret.txt",
    "/..%c0%afsecret.txt",
    "/%uff0e%uff0e/secret.txt",
    "/\uff0e\uff0e/secret.txt".split("").map((char) => char > "\x7f" ? encodeURIComponent(char) : char).join(""),
    "//../secret.txt",
    "/./.././secret.txt",
    "/..;/secret.txt",
    "/...//secret.txt",
    "/../public-secret/secret.txt",
    "/%2e%2e/public-secret/secret.txt",
    "http://localhost/../secret.txt",
    "http://localhost/%2e%2e/secret.txt",
    "/?/../secret.txt/../../secret.txt".replace("?", "%3f"),
    "/app.php/../../secret.txt",
    "/sub/x.php/../../../secret.txt",
    "/../secret.php",
    "/%2e%2e/secret.php",
    "/sub/..%2f..%2fsecret.php",
    "/..%2fsecret.php/x",
  ],
  "follows a link out of the root": [
    "/link.txt",
    "/link.php",
    "/link.php/x",
    "/linkdir/secret.txt",
    "/linkdir/../secret.txt",
    "/etc/passwd",
    "/etc/hostname",
  ],
  "asks for a hidden file": [
    "/.env",
    "/%2eenv",
    "/%2Eenv",
    "/sub/.env",
    "/sub/%2e%65nv",
    "/.git/config",
    "/%2egit/config",
    "/.git%2fconfig",
    "/.git/",
    "//.env",
    "/./.env",
    "/sub/../.env",
    "/.htpasswd",
    "/.app.php.swp",
    "/.env/",
    "/.env%20",
    "/.env%00",
    "/.env?x",
    "/.well-known/../.env",
    "/.well-known/%2e%2e/.env",
  ],
  "asks for source": [
    "/app.php.bak",
    "/app.php~",
    "/app.php%20",
    "/app.php%09",
    "/app.php%00",
    "/app.php%00.txt",
    "/app.php%00/x",
    "/app.php.",
    "/app.php...",
    "/app.php%2e",
    "/app.php::$DATA",
    "/app.php::%24DATA",
    "/app.php:.txt",
    "/app.php%5c",
    "/APP.PHP",
    "/App.php",
    "/app.pHp",
    "/UPPER.PHP",
    "/upper.php",
    "/sub/x.php%20",
    "/app%2ephp%20",
    "/%C8%BA%C8%BA%C8%BA%C8%BAshell.php.txt.php",
  ],
  "makes PHP run what is no script": [
    "/uploads/evil.jpg/x.php",
    "/uploads/evil.jpg/app.php",
    "/uploads/evil.jpg%00.php",
    "/uploads/evil.jpg%00/x.php",
    "/uploads/evil.jpg%0a.php",
    "/uploads/evil.jpg/.php",
    "/uploads/evil.jpg/%2ephp",
    "/uploads/evil.phtml/x.php",
    "/uploads/evil.php.jpg/x.php",
    "/uploads/evil.jpg;/x.php",
    "/uploads/evil.jpg%3b.php",
    "/app.php/../uploads/evil.jpg/x.php",
  ],
  "lists a folder": ["/uploads/", "/sub/", "/.well-known/", "/.well-known/acme-challenge/"],
};

/** Files whose bytes may be seen, but only as bytes: their code must not have run. */
const inertTargets = ["/uploads/evil.jpg", "/uploads/evil.php.jpg", "/uploads/evil%2ejpg", "/uploads/evil.jpg?x.php"];

interface Seen {
  readonly script: string;
  readonly server: Readonly<Record<string, string>>;
  readonly body: string;
}

for (const host of hosts()) {
  describe(`hostile requests to ${host}`, () => {
    /** The binary is built by Bun. What its HTTP parser decides by itself is said where it differs. */
    const onBun = host === "bun" || host === "binary";
    const server = hostileSite(host);

    describe("what is right still works", () => {
      test("a script, a file, PATH_INFO, the front controller, /.well-known", async () => {
        expect((await ask(server.port, get("/hello.txt")))?.text()).toBe("hello");
        expect((await ask(server.port, get("/.well-known/acme-challenge/token")))?.text()).toBe("acme-token");
        const front = await ask(server.port, get("/any/where?x=1"));
        expect([front?.status, front?.header("x-script")]).toEqual([404, "index.php"]);
        const info = JSON.parse((await ask(server.port, get("/sub/x.php/a%20b/c?d=e")))!.text()) as Seen;
        expect(info.script).toBe("sub/x.php");
        expect(info.server["PATH_INFO"]).toBe("/a b/c");
        expect(info.server["SCRIPT_NAME"]).toBe("/sub/x.php");
        expect(info.server["REQUEST_URI"]).toBe("/sub/x.php/a%20b/c?d=e");
        expect(info.server["QUERY_STRING"]).toBe("d=e");
      });

      test("two requests in one packet are answered in their order, or not at all", async () => {
        const client = await RawClient.connect(server.port);
        await client.send(`GET /app.php?first HTTP/1.1\r\nHost: a\r\n\r\n${get("/app.php?second")}`);
        const responses = await client.readAll();
        const queries = responses.map((response) => (JSON.parse(response.text()) as Seen).server["QUERY_STRING"]);
        // Bun closes a connection on which a second request comes before the first is answered.
        if (onBun && queries.length === 0) expect(await client.closes()).toBe(true);
        else expect(queries).toEqual(["first", "second"]);
        client.leave();
      });

      test("a body of a GET is a body, not a request", async () => {
        const client = await RawClient.connect(server.port);
        await client.send(get("/app.php?outer", `Content-Length: ${hidden.length}`) + hidden);
        const responses = await client.readAll();
        expect(responses.length).toBe(1);
        expect(server.ran()).not.toContain("?hidden");
        client.leave();
      });

      test("a chunked body reaches PHP whole, with its length", async () => {
        const chunks = "5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\n\r\n";
        const response = await ask(server.port, post("Transfer-Encoding: chunked\r\nConnection: close\r\n", chunks));
        const seen = JSON.parse(response!.text()) as Seen;
        expect([seen.body, seen.server["CONTENT_LENGTH"]]).toEqual(["hello world", "11"]);
      });

      test("a trailer does not become a header", async () => {
        const chunks = "5\r\nhello\r\n0\r\nX-Trailer: t\r\n\r\n";
        const response = await ask(server.port, post("Transfer-Encoding: chunked\r\nConnection: close\r\n", chunks));
        // Bun takes no trailers, and says so.
        if (onBun) return expect(response?.status).toBe(400);
        const seen = JSON.parse(response!.text()) as Seen;
        expect([seen.body, seen.server["HTTP_X_TRAILER"]]).toEqual(["hello", undefined]);
      });

      test("100-continue is said before a body that is welcome", async () => {
        const client = await RawClient.connect(server.port);
        await client.send(post("Content-Length: 4\r\nExpect: 100-continue\r\nConnection: close\r\n"));
        const interim = await client.read({ timeout: 2000 });
        expect(interim?.status).toBe(100);
        await client.send("body");
        const final = await client.read();
        expect((JSON.parse(final!.text()) as Seen).body).toBe("body");
        client.leave();
      });

      test("a body too big is refused before it comes, whoever asks first", async () => {
        const client = await RawClient.connect(server.port);
        await client.send(post("Content-Length: 99999999\r\nExpect: 100-continue\r\n"));
        let response = await client.read({ timeout: 2000 });
        // Bun says 100 by itself, before the server has seen the request.
        if (onBun && response?.status === 100) response = await client.read({ timeout: 2000 });
        expect([413, 417]).toContain(response?.status as number);
        client.leave();
      });
    });

    for (const [what, targets] of Object.entries(forbiddenTargets)) {
      describe(`a path that ${what}`, () => {
        for (const target of targets) {
          test(JSON.stringify(target), async () => {
            const response = await ask(server.port, get(target));
            showsNothing(response);
            expect(refused).toContain(response?.status as number);
          });
        }
      });
    }

    describe("PHP in a file that is no script stays text", () => {
      for (const target of inertTargets) {
        test(target, async () => {
          const response = await ask(server.port, get(target));
          expect(response?.text()).not.toContain(RAN);
          expect(response?.header("x-script")).toBe(undefined);
          expect([200, ...refused]).toContain(response?.status as number);
        });
      }
    });

    describe("what PHP is told", () => {
      const told = async (...headers: string[]) =>
        (JSON.parse((await ask(server.port, get("/app.php", ...headers)))!.text()) as Seen).server;

      test("a Proxy header does not become HTTP_PROXY", async () => {
        const seen = await told("Proxy: http://evil:80/");
        expect(seen["HTTP_PROXY"] || undefined).toBe(undefined);
      });

      test("a header with an underscore cannot pose as one with a dash", async () => {
        const seen = await told("X_Forwarded_For: 6.6.6.6", "X_User: admin");
        expect([seen["HTTP_X_FORWARDED_FOR"], seen["HTTP_X_USER"]]).toEqual([undefined, undefined]);
      });

      test("a client cannot set PHP's own variables", async () => {
        const seen = await told(
          "PHP_VALUE: auto_prepend_file=/etc/passwd",
          "Script-Filename: /etc/passwd",
          "Https: on",
        );
        expect([seen["PHP_VALUE"], seen["HTTPS"]]).toEqual([undefined, undefined]);
        expect(seen["SCRIPT_FILENAME"]).toMatch(/\/public\/app\.php$/);
      });

      test("an untrusted client does not choose its address or the scheme", async () => {
        const seen = await told(
          "X-Forwarded-For: 1.1.1.1",
          "X-Forwarded-Proto: https",
          "Forwarded: for=1.1.1.1;proto=https",
        );
        expect([seen["REMOTE_ADDR"], seen["HTTPS"]]).toEqual(["127.0.0.1", undefined]);
      });

      test("Basic credentials arrive", async () => {
        const seen = await told(`Authorization: Basic ${btoa("ada:pw")}`);
        expect([seen["PHP_AUTH_USER"], seen["PHP_AUTH_PW"]]).toEqual(["ada", "pw"]);
      });

      test("an absolute target is the path within it, and its host wins", async () => {
        const response = await ask(
          server.port,
          "GET http://inside.example/app.php?q HTTP/1.1\r\nHost: outside.example\r\nConnection: close\r\n\r\n",
        );
        expect(response?.status).toBe(200);
        const seen = JSON.parse(response!.text()) as Seen;
        expect(seen.script).toBe("app.php");
        // Bun hides the authority of such a target; no proxy in front of it sends one.
        expect(seen.server["HTTP_HOST"]).toMatch(onBun ? /^(in|out)side\.example/ : /^inside\.example/);
      });
    });
  });
}
