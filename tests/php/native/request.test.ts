import { describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import * as fc from "fast-check";
import { HEADER } from "../../../plugins/php/native/frame.ts";
import { isHeadRequest, type RequestEncoder, requestEncoder } from "../../../plugins/php/native/request.ts";
import type { WorkerRequest } from "../../../plugins/php/worker/handle.ts";
import { join } from "./support/frames.ts";
import { allowSlowTests } from "../../support/wait.ts";
import { ask, bytesBody, script } from "./support/request.ts";

// Each starts PHP, some of them often.
allowSlowTests(30_000);

const now = 1_793_337_000_250;
const encoder = () => requestEncoder("fairlead/1.0", { wall: () => now, monotonic: () => 1000 });

const library = fileURLToPath(new URL("../../../php/src/autoload.php", import.meta.url));

interface Read {
  readonly number: number;
  readonly head: Readonly<Record<string, unknown>> & { readonly server: Readonly<Record<string, unknown>> };
  readonly body: string;
}

/** A frame as PHP reads it; texts as Latin-1. */
function byPhp(encode: RequestEncoder, request: WorkerRequest, number = 7): Read {
  const bytes = join(encode(request, number).map((piece) => new Uint8Array(piece)));
  const code = `require ${JSON.stringify(library)};
    $b = stream_get_contents(STDIN); ['l' => $l, 't' => $t, 'n' => $n, 'h' => $h] = unpack('Vl/Ct/Cf/vz/Vn/Vh', $b);
    if ($t !== 2 || strlen($b) !== 12 + $l) exit(1);
    $before = microtime(true);
    $head = Fairlead\\Internal\\RequestHead::read(substr($b, 16, $h));
    $now = $head['server']['REQUEST_TIME_FLOAT'];
    if ($now < $before || $now > microtime(true) || $head['server']['REQUEST_TIME'] !== (int) $now) exit(2);
    $head['left'] = round($head['server']['REQUEST_DEADLINE'] - $now, 3);
    if (is_infinite($head['left'])) $head['left'] = 'for ever';
    unset($head['server']['REQUEST_TIME'], $head['server']['REQUEST_TIME_FLOAT'], $head['server']['REQUEST_DEADLINE']);
    $rest = substr($b, 16 + $h);
    if ($rest !== '') {
      $m = unpack('V', $rest)[1];
      $head += $m === 0 ? [] : unserialize(substr($rest, 4, $m), ['allowed_classes' => false]);
      $rest = substr($rest, 4 + $m);
    }
    array_walk_recursive($head, function (&$v) { if (is_string($v)) $v = mb_convert_encoding($v, 'UTF-8', 'ISO-8859-1'); });
    echo json_encode(['number' => $n, 'head' => $head, 'body' => base64_encode($rest)],
      JSON_THROW_ON_ERROR | JSON_PRESERVE_ZERO_FRACTION);`;
  const read = JSON.parse(execFileSync("php", ["-r", code], { input: bytes, maxBuffer: 1 << 26 }).toString());
  return { ...read, body: Buffer.from(read.body, "base64").toString("latin1") };
}

describe("a request", () => {
  test("has all of $_SERVER, and its id", () => {
    const headers = { "accept": "caf\xe9", "cookie": "a=b", "x-forwarded-for": "9.9.9.9", "proxy": "evil" };
    const { number, head, body } = byPhp(encoder(), ask("GET /a%20b?c=d&e", { headers, deadline: 31_500.5 }));
    expect(number).toBe(7);
    expect(body).toBe("");
    expect(Object.keys(head).sort()).toEqual(["id", "left", "server"]);
    expect(head["id"]).toBe("req-1");
    expect(head["left"]).toBe(30.501);
    expect(head.server).toEqual({
      GATEWAY_INTERFACE: "CGI/1.1",
      SERVER_SOFTWARE: "fairlead/1.0",
      REDIRECT_STATUS: "200",
      SCRIPT_FILENAME: "/srv/app/public/index.php",
      SCRIPT_NAME: "/index.php",
      DOCUMENT_URI: "/index.php",
      DOCUMENT_ROOT: "/srv/app/public",
      PATH_INFO: "",
      PHP_SELF: "/index.php",
      QUERY_STRING: "c=d&e",
      REQUEST_METHOD: "GET",
      CONTENT_TYPE: "",
      CONTENT_LENGTH: "",
      REQUEST_URI: "/a%20b?c=d&e",
      SERVER_PROTOCOL: "HTTP/1.1",
      REQUEST_SCHEME: "http",
      REMOTE_ADDR: "127.0.0.1",
      REMOTE_PORT: "40000",
      SERVER_ADDR: "127.0.0.1",
      SERVER_PORT: "8080",
      SERVER_NAME: "example.org",
      HTTP_HOST: "example.org",
      HTTP_ACCEPT: "caf\xe9",
      HTTP_COOKIE: "a=b",
      HTTP_X_FORWARDED_FOR: "9.9.9.9",
    });
  });

  test("of a script in a folder has the rest of its path, as bytes", () => {
    const own = { ...script, scriptName: "/\u00fc/x.php", pathInfo: "/\u20ac" };
    const { head } = byPhp(encoder(), ask("GET /", { script: own }));
    expect(head.server["PHP_SELF"]).toBe(Buffer.from("/\u00fc/x.php/\u20ac").toString("latin1"));
    expect(head.server["SCRIPT_NAME"]).toBe(Buffer.from("/\u00fc/x.php").toString("latin1"));
  });

  test("has a small body in the same piece as its head, a large one behind it", () => {
    for (const size of [0, 1, 60_000, 65_536, 1_000_000]) {
      const bytes = Buffer.alloc(size, "0123456789");
      const encode = encoder();
      const request = ask("POST /", { headers: { "content-length": String(size) }, body: bytesBody(bytes) });
      expect(encode(request, 1).length).toBe(size > 60_000 ? 2 : 1);
      const { head, body } = byPhp(encode, request);
      expect(body === bytes.toString()).toBe(true);
      expect(head.server["CONTENT_LENGTH"]).toBe(String(size));
    }
  });

  test("names the file of a body", () => {
    const { head, body } = byPhp(encoder(), ask("PUT /", { body: { kind: "file", path: "/tmp/\u00e9", length: 99 } }));
    expect(head["input"]).toBe(Buffer.from("/tmp/\u00e9").toString("latin1"));
    expect(head.server["CONTENT_LENGTH"]).toBe("99");
    expect(body).toBe("");
  });

  test("has the fields and the files of a form in their order", () => {
    const form = byPhp(
      encoder(),
      ask("POST /", {
        body: {
          kind: "form",
          type: "multipart",
          raw: undefined,
          length: 1234,
          parts: [
            { kind: "field", name: "a[]", value: "\xff" },
            { kind: "file", name: "f", filename: "x/y.png", mime: "image/png", size: 5, error: 0, path: "/tmp/u1" },
            { kind: "field", name: "a[]", value: "2" },
            { kind: "file", name: "g", filename: "", mime: "", size: 0, error: 4, path: "" },
          ],
        },
      }),
    );
    expect(form.head["post"]).toEqual([["a[]", "\xff"], ["a[]", "2"]]);
    expect(form.head["files"]).toEqual([["f", "x/y.png", "image/png", "/tmp/u1", 0, 5], ["g", "", "", "", 4, 0]]);
    expect(form.head.server["CONTENT_LENGTH"]).toBe("1234");

    const raw = new TextEncoder().encode("x=1");
    const parts = [{ kind: "field", name: "x", value: "1" }] as const;
    const urlencoded = byPhp(
      encoder(),
      ask("POST /", { body: { kind: "form", type: "urlencoded", raw, length: 3, parts } }),
    );
    expect(urlencoded.head["post"]).toEqual([["x", "1"]]);
    expect(urlencoded.head["files"]).toBe(undefined);
    expect(urlencoded.body).toBe("x=1");
  });

  test("without a deadline has time for ever, and one whose time is over has none", () => {
    expect(byPhp(encoder(), ask("GET /", { deadline: Infinity })).head["left"]).toBe("for ever");
    expect(byPhp(encoder(), ask("GET /", { deadline: 500 })).head["left"]).toBe(0);
  });

  test("is these bytes", () => {
    const [bytes] = encoder()(ask("HEAD /a?b", { deadline: 31_000, headers: { "x-a": "1" } }), 0x01020304);
    const values =
      "CGI/1.1,fairlead/1.0,200,/srv/app/public/index.php,/index.php,/index.php,/srv/app/public,,/index.php," +
      "b,HEAD,,,/a?b,HTTP/1.1,http,127.0.0.1,40000,127.0.0.1,8080,example.org,example.org,1,req-1,30000,";
    const names =
      "GATEWAY_INTERFACE,SERVER_SOFTWARE,REDIRECT_STATUS,SCRIPT_FILENAME,SCRIPT_NAME,DOCUMENT_URI,DOCUMENT_ROOT," +
      "PATH_INFO,PHP_SELF,QUERY_STRING,REQUEST_METHOD,CONTENT_TYPE,CONTENT_LENGTH,REQUEST_URI,SERVER_PROTOCOL,REQUEST_SCHEME," +
      "REMOTE_ADDR,REMOTE_PORT,SERVER_ADDR,SERVER_PORT,SERVER_NAME,HTTP_HOST,HTTP_X_A";
    const head = values.replaceAll(",", "\0") + names.replaceAll(",", "\n");
    const header = [
      head.length + 4 & 255,
      head.length + 4 >> 8,
      0,
      0,
      2,
      0,
      0,
      0,
      4,
      3,
      2,
      1,
      head.length & 255,
      head.length >> 8,
      0,
      0,
    ];
    expect(Buffer.from(bytes!).toString("latin1")).toBe(String.fromCharCode(...header) + head);
    expect(isHeadRequest(bytes!.subarray(HEADER))).toBe(true);
    expect(isHeadRequest(encoder()(ask("GET /HEAD"), 1)[0]!.subarray(HEADER))).toBe(false);
  });

  test("takes any bytes in a header for what they are, but a NUL", () => {
    const value = fc.string({ unit: fc.integer({ min: 1, max: 255 }).map((code) => String.fromCharCode(code)) });
    const names = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,8}$/), { minLength: 10 });
    const encode = encoder();
    // Each of them starts a PHP.
    for (const [some, text] of fc.sample(fc.tuple(names, value), { numRuns: 3, seed: 1 })) {
      const headers = new Map(some.map((name, i) => [`x-${name}`, text.slice(i)]));
      const x = {
        ...ask("GET /").x,
        headers: { get: () => null, has: () => false, forEach: headers.forEach.bind(headers) },
      };
      const { server } = byPhp(encode, { ...ask("GET /"), x: x as never }).head;
      const found = Object.entries(server).filter(([name]) => name.startsWith("HTTP_X_"));
      expect(found).toEqual(some.map((name, i) => [`HTTP_X_${name.toUpperCase()}`, text.slice(i)]));
    }
    const nul = new Map([["x-a", "1\0REMOTE_USER\0root"]]);
    const x = { ...ask("GET /").x, headers: { get: () => null, has: () => false, forEach: nul.forEach.bind(nul) } };
    const { server } = byPhp(encode, { ...ask("GET /"), x: x as never }).head;
    expect(server["HTTP_X_A"]).toBe("1 REMOTE_USER root");
    expect("REMOTE_USER" in server).toBe(false);
  });

  test("keeps nothing of the one before", () => {
    const encode = encoder();
    const other = { ...script, scriptName: "/b.php" };
    encode(ask("POST /?q", { headers: { "x-a": "1" }, body: bytesBody("x"), script: other }), 1);
    const { head, body } = byPhp(encode, ask("GET /", { deadline: 2000 }));
    expect(head).toEqual(byPhp(encoder(), ask("GET /", { deadline: 2000 })).head);
    expect(body).toBe("");
  });
});
