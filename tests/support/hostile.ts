/**
 * A site full of what must never be shown or run, and a server for the tests of one `describe`.
 *
 * @module
 */
import { afterAll, afterEach, beforeAll, expect } from "bun:test";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ask, type RawResponse } from "./raw_http.ts";
import { type HostName, startServer, type TestServer } from "./server.ts";

/** Stands in every file that must never be shown. */
export const SECRET = "SECRET-MARKER";
/** Stands in the source of every script, in a comment: seen only when source is shown. */
export const SOURCE = "SOURCE-MARKER";
/** Printed by every script that must never run. */
export const RAN: string = "RAN-" + "MARKER";

/** Says which script ran and with what, and notes it in a log. `RAN-` and `MARKER` never stand together in a source. */
const script = (name: string, forbidden = false) =>
  `<?php /* ${SOURCE} */
file_put_contents(__DIR__ . '/${
    name.includes("/") ? "../" : ""
  }../ran.log', ($_SERVER['REQUEST_METHOD'] ?? '') . ' ' . ($_SERVER['REQUEST_URI'] ?? '') . "\\n", FILE_APPEND);
${name === "index.php" ? "if (strtok($_SERVER['REQUEST_URI'], '?') !== '/') http_response_code(404);" : ""}
${forbidden ? "echo 'RAN-' . 'MARKER';" : ""}
header('X-Script: ${name}');
echo json_encode(['script' => '${name}', 'server' => $_SERVER, 'body' => file_get_contents('php://input')], JSON_PARTIAL_OUTPUT_ON_ERROR);
`;

function prepare(dir: string): void {
  const files: Record<string, string> = {
    "public/index.php": script("index.php"),
    "public/app.php": script("app.php"),
    "public/sub/x.php": script("sub/x.php"),
    "public/hello.txt": "hello",
    "public/uploads/evil.jpg": script("uploads/evil.jpg", true),
    "public/uploads/evil.php.jpg": script("uploads/evil.php.jpg", true),
    "public/uploads/evil.phtml": script("uploads/evil.phtml", true),
    "public/app.php.bak": SECRET,
    "public/app.php~": SECRET,
    "public/.app.php.swp": SECRET,
    "public/UPPER.PHP": script("UPPER.PHP", true),
    "public/.env": SECRET,
    "public/.git/config": SECRET,
    "public/.htpasswd": SECRET,
    "public/sub/.env": SECRET,
    "public/.well-known/acme-challenge/token": "acme-token",
    "secret.txt": SECRET,
    "secret.php": script("secret.php", true),
    "public-secret/secret.txt": SECRET,
    "ran.log": "",
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
  chmodSync(join(dir, "ran.log"), 0o666);
  symlinkSync("../secret.txt", join(dir, "public/link.txt"));
  symlinkSync("../secret.php", join(dir, "public/link.php"));
  symlinkSync("../public-secret", join(dir, "public/linkdir"));
  symlinkSync("/etc", join(dir, "public/etc"));
}

export const get = (target: string, ...headers: string[]): string =>
  `GET ${target} HTTP/1.1\r\nHost: localhost\r\n${
    headers.map((line) => `${line}\r\n`).join("")
  }Connection: close\r\n\r\n`;

export const hidden = "GET /app.php?hidden HTTP/1.1\r\nHost: localhost\r\n\r\n";
export const post = (headers: string, body = "", target = "/app.php"): string =>
  `POST ${target} HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n${body}`;

/** A server of such a site. */
export interface Victim {
  readonly port: number;
  /** What ran, as the scripts note it. */
  ran(): string;
}

/** Starts it before the tests of the `describe` that this is called in, and looks after each whether the next visitor is served. */
export function hostileSite(host: HostName): Victim {
  let server: TestServer;
  let dir: string;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "fairlead-hostile-"));
    prepare(dir);
    server = await startServer({
      host,
      dir,
      config: {
        server: { max_body: "10MB", max_header: "32KB", timeout: "5s", body_timeout: "2s" },
        php: { concurrency: 2 },
        log: { access: "off" },
      },
    });
  });

  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    if (dir) rmSync(dir, { recursive: true, force: true });
  });

  afterEach(async () => {
    // Whatever was sent, the next visitor is served.
    const response = await ask(server.port, get("/app.php?after"));
    expect(response?.status).toBe(200);
  });

  return {
    get port() {
      return server.port;
    },
    ran: () => existsSync(join(dir, "ran.log")) ? readFileSync(join(dir, "ran.log"), "utf8") : "",
  };
}

/** Fails when a response shows a secret, a source, or what a forbidden script prints. */
export function showsNothing(response: RawResponse | undefined): void {
  const everything = `${response?.headers.map((header) => header.join(": ")).join("\n")}\n${response?.text()}`;
  const shown = [SECRET, SOURCE, RAN, "root:x:0:0", "<?php", "Index of"].filter((mark) => everything.includes(mark));
  expect(shown).toEqual([]);
}
