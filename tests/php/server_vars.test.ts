import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { diskFs } from "../../plugins/php/disk_fs.ts";
import { findPhpFpm } from "../../plugins/php/find.ts";
import { headerVariable } from "../../plugins/php/header_names.ts";
import { type FpmMaster, startFpm } from "../../plugins/php/master.ts";
import { makeResolver } from "../../plugins/php/resolve.ts";
import { constantVars, requestVars, scriptVars } from "../../plugins/php/server_vars.ts";
import { exchangeOf } from "./support/exchange.ts";
import { askFpm } from "./support/fcgi_once.ts";
import { type Nginx, startNginx } from "./support/nginx.ts";

const host = "Host: Site.Test:8080\r\nConnection: close\r\n";
const script = "<?php echo json_encode(['server' => $_SERVER, 'get' => $_GET, 'post' => $_POST, 'cookie' => $_COOKIE," +
  " 'input' => file_get_contents('php://input')], JSON_INVALID_UTF8_SUBSTITUTE);\n";

/** Keys that may differ from what nginx gives, each with its reason. */
const mayDiffer: Readonly<Record<string, string>> = {
  SERVER_SOFTWARE: "names the server",
  REMOTE_PORT: "each request has a connection of its own",
  REQUEST_TIME: "the clock",
  REQUEST_TIME_FLOAT: "the clock",
  REMOTE_USER:
    "nginx copies the unchecked user of a Basic header; an application may take the key for a login, so it is not sent",
};

describe("the variables PHP sees", () => {
  let dir: string;
  let fpm: FpmMaster;
  let nginx: Nginx;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "fairlead-vars-"));
    chmodSync(dir, 0o755);
    const root = join(dir, "root");
    mkdirSync(join(root, "dir"), { recursive: true });
    for (const name of ["index.php", "dir/index.php", "dir/é b.php"]) writeFileSync(join(root, name), script);
    fpm = await startFpm({ php: await findPhpFpm(), children: 2, env: { PATH: "/usr/bin:/bin" }, onEvent() {} });
    // nginx's workers are another user's.
    chmodSync(fpm.socket, 0o666);
    nginx = await startNginx(dir, root, fpm.socket);
  });

  afterAll(async () => {
    await nginx?.stop();
    await fpm?.stop({ graceful: false });
    rmSync(dir, { recursive: true, force: true });
  });

  interface Seen {
    readonly server: Record<string, unknown>;
    readonly get: unknown;
    readonly post: unknown;
    readonly cookie: unknown;
    readonly input: string;
  }

  async function throughNginx(request: string, scheme: "http" | "https"): Promise<Seen> {
    const answer = await nginx.send(request, scheme);
    // Chunk sizes stand on lines of their own; the JSON is one line.
    const json = answer.split("\n").find((line) => line.startsWith("{"));
    if (json === undefined) throw new Error(`nginx answered: ${answer}`);
    return JSON.parse(json.trim());
  }

  async function throughUs(request: string, scheme: "http" | "https" = "http"): Promise<Seen> {
    const x = exchangeOf(request, { localPort: scheme === "http" ? nginx.port : nginx.tlsPort, scheme });
    const found = makeResolver({ publicRoot: join(dir, "root") }, diskFs)(x.path, x.query);
    if (found.kind !== "script") throw new Error(`resolved to ${found.kind}`);
    const vars: [string, string][] = [];
    const sink = (name: string, value: string) => void vars.push([name, value]);
    constantVars(sink, "fairlead/test");
    scriptVars(sink, found);
    requestVars(sink, x, { serverName: "site.test" });
    expect(new Set(vars.map(([name]) => name)).size).toBe(vars.length);
    return JSON.parse((await askFpm(fpm.socket, vars, x.sentBody)).body);
  }

  const same: Readonly<Record<string, string>> = {
    "a query": `GET /index.php?a=b&c[]=1&c[]=%20x HTTP/1.1\r\n${host}\r\n`,
    "an empty query": `GET /index.php? HTTP/1.1\r\n${host}\r\n`,
    "no query, and no Host in HTTP/1.0": "GET /index.php HTTP/1.0\r\n\r\n",
    "a path behind the script": `GET /index.php/p%2Fa//th/?x HTTP/1.1\r\n${host}\r\n`,
    "a folder's index": `GET /dir/?x=1 HTTP/1.1\r\n${host}\r\n`,
    "the front controller": `GET /foo%2Fb%20c/d?x=%20 HTTP/1.1\r\n${host}\r\n`,
    "a front controller's question mark": `GET /what%3F?x=1 HTTP/1.1\r\n${host}\r\n`,
    "a name outside ASCII": `GET /dir/%C3%A9%20b.php/%E2%82%AC HTTP/1.1\r\n${host}\r\n`,
    "a form":
      `POST /index.php HTTP/1.1\r\n${host}Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 7\r\n\r\na=b&c=d`,
    "an empty body": `POST /index.php HTTP/1.1\r\n${host}Content-Length: 0\r\n\r\n`,
    "Authorization: Basic": `GET /index.php HTTP/1.1\r\n${host}Authorization: Basic dXNlcjpwYXNz\r\n\r\n`,
    "Authorization: Digest": `GET /index.php HTTP/1.1\r\n${host}Authorization: Digest username="u"\r\n\r\n`,
    "Authorization: Bearer": `GET /index.php HTTP/1.1\r\n${host}Authorization: Bearer a.b-c\r\n\r\n`,
    "cookies": `GET /index.php HTTP/1.1\r\n${host}Cookie: a=1; b=%20x; c[d]=2\r\n\r\n`,
    "odd names":
      `GET /index.php HTTP/1.1\r\n${host}X_B: 1\r\nX.C: 2\r\nX-9: 3\r\nX!: 4\r\nX--D: 5\r\nx-lower: 6\r\n\r\n`,
    "names of power": `GET /index.php HTTP/1.1\r\n${host}Proxy: evil\r\nPHP-Value: a=b\r\nPHP_ADMIN_VALUE: a=b\r\n` +
      "Script-Filename: /etc/passwd\r\nContent-Foo: x\r\nHttps: on\r\nRemote-Addr: 1.2.3.4\r\n\r\n",
    "hop-by-hop fields, which nginx passes": `GET /index.php HTTP/1.1\r\n${host}Keep-Alive: 3\r\nTE: trailers\r\n` +
      "Upgrade: foo\r\nTrailer: x\r\nProxy-Authorization: foo\r\nProxy-Connection: x\r\n\r\n",
    "conditional fields":
      `GET /index.php HTTP/1.1\r\n${host}If-None-Match: "x"\r\nRange: bytes=0-1\r\nAccept: */*\r\n\r\n`,
    "an empty value": `GET /index.php HTTP/1.1\r\n${host}X-Empty:\r\n\r\n`,
    "a value outside ASCII": `GET /index.php HTTP/1.1\r\n${host}X-Bytes: \xc3\xa9 \xe9\r\n\r\n`,
    "a method PHP does not know": `PURGE /index.php HTTP/1.1\r\n${host}\r\n`,
  };
  const overTls = ["a query", "no query, and no Host in HTTP/1.0", "a form", "names of power"];
  const cases = [
    ...Object.entries(same).map(([name, request]) => [name, request, "http"] as const),
    ...overTls.map((name) => [`${name}, over TLS`, same[name]!, "https"] as const),
  ];
  for (const [name, request, scheme] of cases) {
    test(`are those behind nginx: ${name}`, async () => {
      const [theirs, ours] = await Promise.all([throughNginx(request, scheme), throughUs(request, scheme)]);
      expect(theirs.server["HTTPS"]).toBe(scheme === "https" ? "on" : undefined);
      for (const key of Object.keys(mayDiffer)) {
        if (key !== "REMOTE_USER") expect(ours.server).toHaveProperty([key]);
        delete theirs.server[key];
        delete ours.server[key];
      }
      expect(ours).toEqual(theirs);
    });
  }

  test("join a repeated field, of which this nginx keeps the last", async () => {
    const request = `GET /index.php HTTP/1.1\r\n${host}X-A: 1\r\nx-a: 2\r\nCookie: a=1\r\nCookie: b=2\r\n\r\n`;
    const { server, cookie } = await throughUs(request);
    expect(server["HTTP_X_A"]).toBe("1, 2");
    expect(cookie).toEqual({ a: "1", b: "2" });
  });

  test("hold no setting a client could make", async () => {
    const request =
      `GET /index.php HTTP/1.1\r\n${host}PHP_VALUE: memory_limit=1\r\nPHP-Admin-Value: memory_limit=1\r\n` +
      "Proxy: x\r\n\r\n";
    const { server } = await throughUs(request);
    for (const key of ["PHP_VALUE", "PHP_ADMIN_VALUE", "HTTP_PROXY"]) expect(server).not.toHaveProperty([key]);
  });
});

describe("requestVars", () => {
  const vars = (request: string, facts = {}, scheme: "http" | "https" = "http") => {
    const seen = new Map<string, string>();
    requestVars((name, value) => void seen.set(name, value), exchangeOf(request, { localPort: 8080, scheme }), facts);
    return seen;
  };

  test("says HTTPS only for https", () => {
    expect(vars(`GET / HTTP/1.1\r\n${host}\r\n`).has("HTTPS")).toBe(false);
    const https = vars(`GET / HTTP/1.1\r\n${host}\r\n`, {}, "https");
    expect([https.get("HTTPS"), https.get("REQUEST_SCHEME")]).toEqual(["on", "https"]);
  });

  test("names the server by the host asked for, its port apart", () => {
    const name = (value: string) => vars(`GET / HTTP/1.1\r\nHost: ${value}\r\n\r\n`).get("SERVER_NAME");
    expect(["a.test", "a.test:81", "[::1]", "[::1]:81"].map(name)).toEqual(["a.test", "a.test", "[::1]", "[::1]"]);
  });

  test("takes the length of a spooled body from who spooled it", () => {
    const request = `POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n`;
    expect(vars(request, { length: 3 }).get("CONTENT_LENGTH")).toBe("3");
    expect(vars(request).get("CONTENT_LENGTH")).toBe("");
  });
});

describe("headerVariable", () => {
  test("maps ASCII names only, and stays right past its memory", () => {
    for (let n = 0; n < 3000; n++) expect(headerVariable(`x-n-${n}`)).toBe(`HTTP_X_N_${n}`);
    expect(headerVariable("accept-language")).toBe("HTTP_ACCEPT_LANGUAGE");
    for (const name of ["", "a_b", "proxy", "Proxy", "host", "a.b", "a\0b", "a b", "ﬁ", "ıd"]) {
      expect([name, headerVariable(name)]).toEqual([name, ""]);
    }
  });
});
