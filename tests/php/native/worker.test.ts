/** The package `fairlead/worker`, as real PHP processes use it: requests and responses. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { allowSlowTests, turns } from "../../support/wait.ts";
import { bytesBody } from "./support/request.ts";
import { openWorld, until, type World } from "./support/world.ts";

allowSlowTests(30_000);

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

/** A worker that answers what `$request` has, as JSON. */
const show = (expression: string) =>
  `while ($request = $worker->next()) {
  $worker->respond(200, ['Content-Type' => 'application/json'], json_encode(${expression}));
}`;
const json = (body: string) => JSON.parse(body);

describe("a request", () => {
  test("has its parts, as PHP has them", async () => {
    const one = await world.start(show(`[
      'method' => $request->method, 'path' => $request->path, 'uri' => $request->uri(), 'id' => $request->id,
      'query' => $request->query(), 'cookies' => $request->cookies(), 'headers' => $request->headers(),
      'one' => [$request->header('X-a_B'), $request->header('content-type'), $request->header('none')],
      'left' => $request->timeLeft() > 29 && $request->timeLeft() <= 30, 'gone' => $request->clientGone(),
      'form' => $request->isForm(), 'post' => $request->post(), 'files' => $request->files(), 'body' => $request->body(),
      'time' => abs($request->server['REQUEST_TIME_FLOAT'] - microtime(true)) < 5,
    ]`)).up();
    const headers = { "x-a-b": "1", "content-type": "text/x", "cookie": "a=%20; b[c]=d; a=no; e.f=g; =x; h" };
    const answer = await one.get("PUT /a%20b/?c[d][]=e&c[d][]=f&g+h.i=j", { headers, body: bytesBody("") });
    expect(answer.head).toBe("Content-Type: application/json");
    expect(json(answer.body)).toEqual({
      method: "PUT",
      path: "/a%20b/",
      uri: "http://example.org/a%20b/?c[d][]=e&c[d][]=f&g+h.i=j",
      id: "req-1",
      query: { c: { d: ["e", "f"] }, g_h_i: "j" },
      cookies: { a: " ", b: { c: "d" }, e_f: "g", h: "" },
      headers: { "Host": "example.org", "Cookie": headers.cookie, "X-A-B": "1", "Content-Type": "text/x" },
      one: ["1", "text/x", null],
      left: true,
      gone: false,
      form: false,
      post: [],
      files: [],
      body: "",
      time: true,
    });
    // Of another request nothing is left.
    const next = json((await one.get("GET http://other.example?x", { deadline: performance.now() - 5 })).body);
    expect([next.path, next.query, next.cookies, next.left]).toEqual(["/", { x: "" }, [], false]);
  });

  test("has a form's fields, and its files until they are moved", async () => {
    const path = join(world.dir, "upload1");
    writeFileSync(path, "content");
    const one = await world.start(`while ($request = $worker->next()) {
      $files = $request->files();
      $file = $files['doc']['main'];
      $answer = ['post' => $request->post(), 'is' => $request->isForm(), 'contents' => $file->contents(),
        'stream' => stream_get_contents($file->stream()), 'list' => array_map(fn($f) => [$f->name, $f->fullPath, $f->error, $f->isValid()], $files['f']),
        'type' => $file->type, 'size' => $file->size];
      $file->moveTo(getenv('DIR') . '/moved');
      foreach ([fn() => $file->moveTo('/x'), fn() => $files['f'][1]->contents()] as $wrong) {
        try { $wrong(); } catch (RuntimeException $e) { $answer['wrong'][] = $e->getMessage(); }
      }
      $worker->respond(200, [], json_encode($answer));
    }`).up();
    const file = { mime: "text/plain", size: 7, error: 0, path } as const;
    const answer = await one.get("POST /", {
      body: {
        kind: "form",
        type: "multipart",
        raw: undefined,
        length: 500,
        parts: [
          { kind: "field", name: "a[b][]", value: "1" },
          { kind: "file", ...file, name: "doc[main]", filename: "x.txt" },
          { kind: "field", name: "a[b][]", value: "\u00c3\u00a9" },
          { kind: "file", ...file, name: "f[]", filename: "dir/sub\\y.txt" },
          { kind: "file", ...file, name: "f[]", filename: "/z", error: 1, path: "", size: 0 },
          { kind: "field", name: "c d", value: "&=" },
          { kind: "field", name: "c.d", value: "last" },
        ],
      },
    });
    expect(json(answer.body)).toEqual({
      post: { a: { b: ["1", "\u00e9"] }, c_d: "last" },
      is: true,
      contents: "content",
      stream: "content",
      type: "text/plain",
      size: 7,
      list: [["y.txt", "dir/sub\\y.txt", 0, true], ["z", "/z", 1, false]],
      wrong: ["The uploaded file has been moved already", "The upload failed with error 1"],
    });
    expect(existsSync(path)).toBe(false);
    expect(readFileSync(join(world.dir, "moved"), "utf8")).toBe("content");
  });

  test("has a body of 8 MB, in memory or in a file, and so has a response", async () => {
    const one = await world.start(`while ($request = $worker->next()) {
      $stream = stream_get_contents($request->bodyStream());
      $worker->respond(200, ['X-Same' => var_export($stream === $request->body(), true)], strrev($stream));
    }`).up();
    const bytes = new Uint8Array(8 * 1024 * 1024 + 1);
    for (let i = 0; i < bytes.length; i++) bytes[i] = i * 2_654_435_761 >>> 13;
    const path = join(world.dir, "body");
    writeFileSync(path, bytes);
    const hash = (data: Uint8Array) => createHash("sha1").update(data).digest("hex");
    const want = hash(bytes.slice().reverse());
    for (const body of [bytesBody(bytes), { kind: "file", path, length: bytes.length } as const, bytesBody(bytes)]) {
      const answer = await one.get("POST /", { body });
      expect(answer.head).toContain("X-Same: true");
      const all = Buffer.concat(answer.chunks);
      expect(hash(all.subarray(all.indexOf("\r\n\r\n") + 4))).toBe(want);
    }
    for (const size of [1, 16_383, 65_520, 65_536, 300_000]) {
      expect((await one.get("POST /", { body: bytesBody(bytes.subarray(0, size)) })).chunks.length).toBeGreaterThan(0);
    }
  });
});

describe("a response", () => {
  test("has the status and headers it was given, or none that HTTP does not have", async () => {
    const one = await world.start(`while ($request = $worker->next()) {
      $wrong = [];
      foreach ([[99, []], [600, []], [200, ['A b' => 1]], [200, ['A' => "b\\r\\nC: d"]], [200, ['A' => "\\0"]], [200, ['' => 'x']],
        [200, ['status' => '500']]] as [$status, $headers]) {
        try { $worker->respond($status, $headers, 'x'); } catch (InvalidArgumentException $e) { $wrong[] = $e->getMessage(); }
      }
      $worker->respond(418, ['X-A' => ['1', '2'], 'X-Count' => count($wrong), 5 => 'x'], 'body');
      try { $worker->respond(); } catch (LogicException $e) { $worker->log('info', $e->getMessage()); }
    }`).up();
    const answer = await one.get();
    expect(answer.stdout).toBe(
      "Status: 418\r\nX-A: 1\r\nX-A: 2\r\nX-Count: 7\r\n5: x\r\nContent-Type: text/html; charset=UTF-8\r\n\r\nbody",
    );
    expect(one.logged.map((line) => line.message)).toEqual([expect.stringContaining("one response to each next()")]);
  });

  test("has a head only for HEAD, and no generator runs", async () => {
    const one = await world.start(`while ($request = $worker->next()) {
      $bodies = ['/text' => 'hello', '/left-out' => ''];
      $worker->respond(200, ['Content-Type' => 'a/b'], $bodies[$request->path] ?? (function () { echo "ran\\n"; yield 'x'; })());
    }`).up();
    expect((await one.get("HEAD /text")).stdout).toBe("Content-Type: a/b\r\nContent-Length: 5\r\n\r\n");
    for (const path of ["/", "/left-out"]) {
      expect((await one.get(`HEAD ${path}`)).stdout).toBe("Content-Type: a/b\r\n\r\n");
    }
    expect(one.lines).toEqual([]);
  });

  test("streams piece by piece, each at once", async () => {
    const one = await world.start(`while ($request = $worker->next()) {
      $worker->respond(200, ['Content-Type' => 'text/event-stream'], (function () {
        yield '';
        foreach ([1, 2] as $n) {
          while (!file_exists(getenv('DIR') . "/go$n")) usleep(1000);
          yield "data: $n\\n\\n";
          yield '';
        }
      })());
    }`).up();
    const sink = one.send();
    await until("the head", () => sink.stdout.endsWith("\r\n\r\n"));
    writeFileSync(join(world.dir, "go1"), "");
    await until("the first event", () => sink.body === "data: 1\n\n");
    writeFileSync(join(world.dir, "go2"), "");
    await until("the end", () => sink.finals === 1);
    expect(sink.body).toBe("data: 1\n\ndata: 2\n\n");
    expect(sink.chunks.length).toBe(3);
  });

  test("may be an array, an iterator, a stringable, or a resource", async () => {
    const one = await world.start(`while ($request = $worker->next()) {
      $worker->respond(200, [], match ($request->path) {
        '/array' => ['a', 'b', ''],
        '/empty' => [],
        '/iterator' => new ArrayIterator(['a', 'b']),
        '/stringable' => new class { function __toString() { return 'ab'; } },
        '/resource' => fopen('data:,ab', 'r'),
        '/file' => (function () { $f = tmpfile(); fwrite($f, str_repeat('ab', 100000)); rewind($f); return $f; })(),
      });
    }`).up();
    for (const path of ["/array", "/iterator", "/stringable", "/resource"]) {
      expect([path, (await one.get(`GET ${path}`)).body]).toEqual([path, "ab"]);
    }
    expect((await one.get("GET /empty")).body).toBe("");
    expect((await one.get("GET /file")).body).toBe("ab".repeat(100_000));
  });

  test("waits for a client that is slow: PHP's own writes wait", async () => {
    const one = await world.start(`while ($request = $worker->next()) {
      $worker->respond(200, [], (function () {
        for ($i = 0; $i < 256; $i++) { yield str_repeat('x', 65536); file_put_contents(getenv('DIR') . '/sent', (string) $i); }
      })());
    }`).up();
    const sink = one.send();
    sink.onChunk = () => one.worker.pause();
    const sent = () => existsSync(join(world.dir, "sent")) ? Number(readFileSync(join(world.dir, "sent"), "utf8")) : -1;
    // It goes on until the buffers between are full, and no further.
    let before = -2;
    await until("PHP to wait", () => {
      const now = sent();
      const waits = now === before && now >= 0;
      before = now;
      return waits;
    });
    expect(sent()).toBeLessThan(40);
    sink.onChunk = undefined;
    one.worker.resume();
    await until("the end", () => sink.finals === 1);
    expect(sink.body.length).toBe(256 * 65536);
  });

  test("can be preceded by early hints", async () => {
    const one = await world.start(`while ($request = $worker->next()) {
      $worker->early(['Link' => ['</a.css>; rel=preload', '</b.js>; rel=preload']]);
      $worker->respond(200, [], (function () use ($worker) {
        yield 'x';
        try { $worker->early(['Link' => '</c>']); } catch (LogicException $e) { yield 'too late'; }
      })());
    }`).up();
    const answer = await one.get();
    expect(answer.early.map((head) => [head.status, head.headers])).toEqual([
      [103, [["Link", "</a.css>; rel=preload"], ["Link", "</b.js>; rel=preload"]]],
    ]);
    expect(answer.body).toBe("xtoo late");
  });

  test("is over when respond() returns: what follows is work behind it", async () => {
    const one = await world.start(`while ($request = $worker->next()) {
      $worker->respond(200, [], 'done');
      while (!file_exists(getenv('DIR') . '/behind')) usleep(1000);
    }`).up();
    const sink = one.send();
    await until("the answer", () => sink.finals === 1);
    await turns();
    expect([sink.body, one.ready]).toEqual(["done", 1]);
    writeFileSync(join(world.dir, "behind"), "");
    await one.up(2);
  });
});

describe("a client that leaves", () => {
  test("is noticed by who asks", async () => {
    const one = await world.start(`while ($request = $worker->next()) {
      while (!$request->clientGone()) usleep(500);
      $worker->log('info', 'gone: ' . var_export($request->clientGone(), true));
      $worker->respond(200, [], 'for nobody');
      $old[] = $request;
      $worker->log('info', 'kept: ' . json_encode(array_map(fn($r) => $r->clientGone(), $old)));
    }`).up();
    for (let n = 2; n < 4; n++) {
      const sink = one.send();
      one.worker.cancel();
      await one.up(n);
      expect(sink.finals + sink.chunks.length).toBe(0);
    }
    expect(one.logged.map((line) => line.message)).toEqual([
      "gone: true",
      "kept: [true]",
      "gone: true",
      "kept: [true,true]",
    ]);
  });

  test("ends a generator: its finally blocks run, and the next request is none of its", async () => {
    const code = (loop: string) =>
      `$stream = function () use ($worker) {
      try { while (true) { yield 'tick'; usleep(500); } } finally { $worker->log('info', 'cleaned up'); }
    };
    ${loop}`;
    const loops = [
      `while ($request = $worker->next()) $worker->respond(200, [], $request->path === '/' ? 'ok' : $stream());`,
      `$worker->serve(fn($request) => $request->path === '/' ? 'ok' : $stream());`,
      `$worker->serve(fn($request) => new Fairlead\\Response(200, [], $request->path === '/' ? 'ok' : $stream()));`,
    ];
    for (const loop of loops) {
      const one = await world.start(code(loop)).up();
      const sink = one.send("GET /stream");
      await until("ticks", () => sink.chunks.length > 2);
      one.worker.cancel();
      await one.up(2);
      expect(one.logged.map((line) => line.message)).toEqual(["cleaned up"]);
      expect((await one.get()).body).toBe("ok");
    }
  });

  test("frees a process that waits in its write", async () => {
    const one = await world.start(`while ($request = $worker->next()) {
      $worker->respond(200, [], (function () { while (true) yield str_repeat('x', 65536); })());
    }`).up();
    const sink = one.send();
    sink.onChunk = () => one.worker.pause();
    await until("the first byte", () => sink.chunks.length > 0);
    one.worker.cancel();
    await one.up(2);
    expect(sink.finals).toBe(0);
  });
});
