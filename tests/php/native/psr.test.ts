/** The glue to PSR-3, PSR-7, PSR-15 and PSR-17. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { allowSlowTests } from "../../support/wait.ts";
import { bytesBody } from "./support/request.ts";
import { openWorld, type World } from "./support/world.ts";

allowSlowTests(30_000);

const interfaces = fileURLToPath(new URL("support/psr.php", import.meta.url));
let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const start = (code: string) =>
  world.start(`require ${JSON.stringify(interfaces)};
    $factory = new Small\\Factory();
    $psr = new Fairlead\\Psr\\PsrWorker($factory, $factory, $factory);
    ${code}`).up();

/** A handler that answers what the request was made with. */
const show = `final class Show implements Psr\\Http\\Server\\RequestHandlerInterface {
  public function handle(Psr\\Http\\Message\\ServerRequestInterface $r): Psr\\Http\\Message\\ResponseInterface {
    $files = $r->all('withUploadedFiles')[0][1];
    array_walk_recursive($files, function (&$file) { $file = $file->all; });
    $attribute = $r->all('withAttribute')[0];
    return new Small\\Response(203, ['Content-Type' => ['a/b'], 'X' => ['1', '2']], (new Small\\Factory())->createStream(json_encode([
      'line' => [$r->method, $r->uri, $r->all('withProtocolVersion')[0][1], $r->server['REQUEST_METHOD']],
      'headers' => array_column($r->all('withHeader'), 2, 1),
      'cookies' => $r->all('withCookieParams')[0][1], 'query' => $r->all('withQueryParams')[0][1],
      'body' => (string) $r->all('withBody')[0][1], 'parsed' => $r->all('withParsedBody'), 'files' => $files,
      'attribute' => [$attribute[1], $attribute[2]->id],
    ])));
  }
}`;

describe("a PSR-15 handler", () => {
  test("gets the whole request, and its response is sent", async () => {
    const one = await start(`${show}\n$psr->serve(new Show());`);
    const headers = { "content-type": "text/x", "cookie": "a=b" };
    const plain = await one.get("PUT /p?q[]=1", { headers, body: bytesBody("hello") });
    expect(plain.head).toBe("Status: 203\r\nContent-Type: a/b\r\nX: 1\r\nX: 2");
    expect(JSON.parse(plain.body)).toEqual({
      line: ["PUT", "http://example.org/p?q[]=1", "1.1", "PUT"],
      headers: { "Host": "example.org", "Cookie": "a=b", "Content-Type": "text/x", "Content-Length": "5" },
      cookies: { a: "b" },
      query: { q: ["1"] },
      body: "hello",
      parsed: [],
      files: [],
      attribute: ["Fairlead\\Request", "req-1"],
    });
    const path = join(world.dir, "psr-upload");
    writeFileSync(path, "content");
    const form = await one.get("POST /", {
      body: {
        kind: "form",
        type: "multipart",
        raw: undefined,
        length: 99,
        parts: [
          { kind: "field", name: "a[b]", value: "c" },
          { kind: "file", name: "f[x]", filename: "n.txt", mime: "text/plain", size: 7, error: 0, path },
          { kind: "file", name: "g", filename: "", mime: "", size: 0, error: 4, path: "" },
        ],
      },
    });
    const shown = JSON.parse(form.body);
    expect(shown.parsed).toEqual([["withParsedBody", { a: { b: "c" } }]]);
    expect(shown.files).toEqual({ f: { x: ["content", 7, 0, "n.txt", "text/plain"] }, g: ["", 0, 4, "", ""] });
  });

  test("may answer with a stream, of any size or of none", async () => {
    const one = await start(`while ($request = $psr->next()) {
      $stream = fopen('php://temp', 'w+');
      fwrite($stream, str_repeat('ab', 100000));
      if ($request->uri === 'http://example.org/unsized') rewind($stream);
      $psr->respond(new Small\\Response(200, [], new Small\\Stream($stream, $request->uri !== 'http://example.org/unsized')));
    }`);
    for (const path of ["/", "/unsized"]) {
      const answer = await one.get(`GET ${path}`);
      expect([path, answer.body.length, answer.chunks.length > 1]).toEqual([path, 200_000, true]);
    }
  });
});

describe("the logger", () => {
  test("writes to the server's log", async () => {
    const one = await start(`$log = new Fairlead\\Psr\\Logger();
    while ($request = $psr->next()) {
      $log->warning('{a} and {b} and {c}', ['a' => 1, 'b' => null, 'exception' => new Exception('why')]);
      foreach (['debug', 'info', 'notice', 'error', 'critical', 'alert', 'emergency'] as $level) $log->log($level, 'x');
      try { $log->log('loud', 'x'); } catch (Psr\\Log\\InvalidArgumentException $e) { $log->log('info', $e->getMessage()); }
      $worker->respond();
    }`);
    await one.get();
    const [first, ...others] = one.logged;
    expect([first!.level, first!.message]).toEqual(["warn", "1 and  and {c}"]);
    const context = JSON.parse(first!.context);
    expect([context.a, context.request_id, context.exception.split(" in /")[0]]).toEqual([
      1,
      "req-1",
      "Exception: why",
    ]);
    expect(others.map((line) => line.level)).toEqual([
      "debug",
      "info",
      "info",
      "error",
      "error",
      "error",
      "error",
      "info",
    ]);
    expect(others.at(-1)!.message).toContain('got "loud"');
  });
});
