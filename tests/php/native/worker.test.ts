/** The package `fairlead/worker`, as real PHP processes use it. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { createServer } from "node:net";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CoreError } from "../../../core/error.ts";
import { allowSlowTests, turns } from "../../support/wait.ts";
import { requestEncoder } from "../../../plugins/php/native/request.ts";
import { ask, bytesBody } from "./support/request.ts";
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

describe("serve", () => {
  test("answers with what the handler returns, and goes on when it throws", async () => {
    const one = await world.start(`$worker->serve(function (Fairlead\\Request $request) use ($worker) {
      static $n = 0;
      $n++;
      switch ($request->path) {
        case '/response': return new Fairlead\\Response(201, ['X-A' => 'b'], 'made');
        case '/json': return Fairlead\\Response::json(['a' => '/\u00e9']);
        case '/pieces': return ['a', 'b'];
        case '/itself': $worker->respond(202, [], 'itself'); return null;
        case '/throw': throw new DomainException('on purpose');
        case '/error': return undefined_function();
        case '/null': return null;
        case '/int': return 5;
        case '/bad-piece': return [[]];
        case '/bad-header': return new Fairlead\\Response(200, ['X' => "a\\nb"], 'x');
        default: return "$n";
      }
    });`).up();
    const get = async (path: string) => {
      const answer = await one.get(`GET ${path}`);
      return [/^Status: (\d+)/.exec(answer.head)?.[1] ?? "200", answer.body];
    };
    const failed = ["500", "Internal Server Error\n"];
    expect(await get("/response")).toEqual(["201", "made"]);
    expect(await get("/json")).toEqual(["200", '{"a":"/\u00e9"}']);
    expect(await get("/pieces")).toEqual(["200", "ab"]);
    expect(await get("/itself")).toEqual(["202", "itself"]);
    for (const path of ["/throw", "/error", "/null", "/int", "/bad-piece", "/bad-header"]) {
      expect([path, await get(path)]).toEqual([path, failed]);
    }
    expect(await get("/")).toEqual(["200", "11"]);
    expect(one.logged.map(({ level, message, context }) => [level, message.split(" in /")[0], context])).toEqual([
      "Uncaught DomainException: on purpose",
      "Uncaught Error: Call to undefined function undefined_function()",
      "Uncaught InvalidArgumentException: Expected a string, an iterable or a resource as the body, got null",
      "Uncaught InvalidArgumentException: Expected a string, an iterable or a resource as the body, got int",
      "Uncaught InvalidArgumentException: Expected pieces that are strings, got array",
      "Uncaught InvalidArgumentException: Expected a value of X without CR, LF and NUL",
    ].map((message) => ["error", message, '{"request_id":"req-1"}']));
  });

  test("cuts a response off that breaks in the middle, and goes on", async () => {
    const one = await world.start(`$worker->serve(function ($request) {
      if ($request->path === '/ok') return 'ok';
      return (function () { yield 'half'; throw new Exception('database gone'); })();
    });`).up();
    const sink = one.send("GET /");
    await one.up(2);
    expect([sink.body, sink.error!.code, sink.progress]).toEqual(["half", "PHP_RESPONSE_CUT", "touched"]);
    expect((await one.get("GET /ok")).body).toBe("ok");
  });

  test("works behind the response", async () => {
    const one = await world.start(`$worker->serve(fn() => 'done', function ($request) use ($worker) {
      while (!file_exists(getenv('DIR') . '/after')) usleep(1000);
      $worker->log('info', "after $request->path");
      throw new Exception('behind it');
    });`).up();
    const sink = one.send("GET /x");
    await until("the answer", () => sink.finals === 1);
    await turns();
    expect(one.ready).toBe(1);
    writeFileSync(join(world.dir, "after"), "");
    await one.up(2);
    expect(one.logged.map((line) => line.message.split(" in /")[0])).toEqual([
      "after /x",
      "Uncaught Exception: behind it",
    ]);
  });
});

describe("the log", () => {
  test("has what is printed, what PHP says, and what is logged with its level", async () => {
    const one = await world.start(`echo "booting\\n"; $worker->log('warn', 'early', ['a' => 1]);
    while ($request = $worker->next()) {
      echo "printed\\n";
      fwrite(STDERR, "on stderr\\n");
      trigger_error('a warning', E_USER_WARNING);
      $worker->log('debug', "a\\0b", ['n' => 1.5, 'bad' => "\\xff", 'big' => null]);
      $worker->log('error', str_repeat('x', 3000000), ['y' => str_repeat('y', 3000000)]);
      try { $worker->log('loud', 'x'); } catch (InvalidArgumentException $e) { $worker->log('info', $e->getMessage()); }
      $worker->respond(200, [], 'clean');
    }`).up();
    expect((await one.get()).body).toBe("clean");
    await until("lines", () => one.lines.some((line) => line.includes("a warning")) && one.lines.includes("printed"));
    expect(one.lines).toContain("booting");
    expect(one.lines).toContain('early {"a":1}');
    expect(one.lines).toContain("on stderr");
    const [first, second, third] = one.logged;
    expect([first!.level, first!.message]).toEqual(["debug", "a b"]);
    expect(JSON.parse(first!.context)).toEqual({ n: 1.5, bad: "\ufffd", big: null, request_id: "req-1" });
    expect([second!.level, second!.message.length, second!.context]).toEqual([
      "error",
      65536,
      '{"context":"too large"}',
    ]);
    expect(third!.message).toBe('Expected a level of debug, info, warn or error, got "loud"');
  });
});

describe("the end of a worker", () => {
  const loop = "while ($request = $worker->next()) { $worker->respond(200, [], 'x'); }";

  test("comes when it is asked to stop, with exit code 0 and its shutdown functions", async () => {
    const one = await world.start(`register_shutdown_function(fn() => print("shut down\\n")); ${loop} echo "left\\n";`)
      .up();
    await one.get();
    one.worker.stop();
    expect(await one.gone()).toMatchObject({ code: 0, signal: null });
    expect(one.lines).toEqual(["left", "shut down"]);
    expect([one.broken, one.stopAsked]).toEqual([undefined, 0]);
  });

  test("comes after its request when it is asked in it, and at once when it boots", async () => {
    const one = await world.start(loop).up();
    const sink = one.send();
    one.worker.stop();
    expect(await one.gone()).toMatchObject({ code: 0 });
    expect([sink.body, one.broken]).toEqual(["x", undefined]);

    const booting = world.start(loop);
    booting.worker.stop();
    expect(await booting.gone()).toMatchObject({ code: 0 });
    expect([booting.ready, booting.broken]).toEqual([0, undefined]);
  });

  test("may be its own wish", async () => {
    const one = await world.start(`while ($request = $worker->next()) {
      if ($request->path === '/stop') { $worker->stop(); $worker->stop(); }
      $worker->respond(200, [], 'x');
    }`).up();
    await one.get("GET /stop");
    expect(one.stopAsked).toBe(1);
    // Until it is told to end it answers.
    expect((await one.get()).body).toBe("x");
    one.worker.stop();
    expect(await one.gone()).toMatchObject({ code: 0 });
  });

  test("is told when exit() ends a request: without a response, in it, and behind it", async () => {
    const code = `while ($request = $worker->next()) {
      if ($request->path === '/before') exit(3);
      $worker->respond(200, [], $request->path === '/in' ? (function () { yield 'half'; exit(4); })() : 'whole');
      exit(5);
    }`;
    const before = await world.start(code).up();
    const refused = before.send("GET /before");
    expect(await before.gone()).toMatchObject({ code: 3 });
    expect([refused.head.split("\r\n")[0], refused.body, refused.finals]).toEqual([
      "Status: 500",
      "Internal Server Error\n",
      1,
    ]);
    expect(before.stopAsked).toBe(1);

    const within = await world.start(code).up();
    const cutOff = within.send("GET /in");
    expect(await within.gone()).toMatchObject({ code: 4 });
    expect([cutOff.body, cutOff.error?.code]).toEqual(["half", "PHP_RESPONSE_CUT"]);

    const behind = await world.start(code).up();
    const whole = behind.send("GET /");
    expect(await behind.gone()).toMatchObject({ code: 5 });
    expect([whole.body, whole.finals, behind.stopAsked]).toEqual(["whole", 1, 1]);
    for (const one of [before, within, behind]) expect([one.broken, one.ready]).toEqual([undefined, 1]);
  });

  test("is a crash when an error ends it, and its client hears 500", async () => {
    const code = `while ($request = $worker->next()) {
      match ($request->path) {
        '/fatal' => str_repeat('x', 1 << 30),
        '/throw' => throw new Exception('nobody catches it'),
        '/compile' => eval('class A {} class A {}'),
      };
    }`;
    for (
      const [path, words] of [["/fatal", "Allowed memory size"], ["/throw", "nobody catches it"], [
        "/compile",
        "Cannot declare class A",
      ]]
    ) {
      const one = await world.start(code!, { memory_limit: "64M" }).up();
      const sink = one.send(`GET ${path}`);
      const exit = await one.gone();
      expect(exit.code).toBe(255);
      expect(exit.lastWords.join("\n")).toContain(words!);
      expect([path, sink.body, sink.finals, one.stopAsked]).toEqual([path, "Internal Server Error\n", 1, 0]);
      expect(one.broken).toBe(undefined);
    }
  });

  test("a request that nobody answers gets 500", async () => {
    const one = await world.start(`while ($request = $worker->next()) { }`).up();
    expect((await one.get("GET /x")).head).toContain("Status: 500");
    expect(one.logged.map((line) => line.message)).toEqual(["No response was given to GET /x"]);
  });

  test("by a signal leaves its request unanswered", async () => {
    const one = await world.start("while ($request = $worker->next()) { posix_kill(getmypid(), SIGSEGV); sleep(5); }")
      .up();
    const sink = one.send();
    expect(await one.gone()).toMatchObject({ code: null, signal: "SIGSEGV" });
    expect([sink.finals, one.broken]).toEqual([0, undefined]);
    // Too late for anything.
    one.send();
    one.worker.pause();
    one.worker.resume();
    one.worker.cancel();
    one.worker.stop();
    one.worker.kill();
  });

  test("comes when Fairlead is gone, wherever a frame breaks off", async () => {
    const request = Buffer.concat(
      requestEncoder("fairlead/1")(ask("POST /", { body: bytesBody("x".repeat(100_000)) }), 1).map((part) => part),
    );
    const cuts = [0, 1, 11, 12, 13, 16, 17, 200, 5000, 70_000, request.length - 1, request.length];
    const path = join(world.dir, "gone.sock");
    let next = 0;
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.end(request.subarray(0, cuts[next++])));
    });
    await new Promise<void>((done) => server.listen(path, done));
    try {
      for (const _cut of cuts) {
        const one = world.start(`putenv('FAIRLEAD_SOCKET=${path}'); ${loop} echo "left\n";`);
        expect(await one.gone()).toMatchObject({ code: 0, signal: null });
        expect(one.lines).toEqual(["left"]);
      }
      expect(next).toBe(cuts.length);
    } finally {
      server.close();
    }
  });

  test("is at once when it was not started by Fairlead, or cannot connect", async () => {
    const one = world.start(`putenv('FAIRLEAD_SOCKET=/nowhere'); ${loop}`);
    const exit = await one.gone();
    expect(exit.code).toBe(255);
    expect(exit.lastWords.join("\n")).toContain("Cannot connect to Fairlead at /nowhere");
    const bare = world.startBare(
      `putenv('FAIRLEAD_SOCKET'); require ${
        JSON.stringify(new URL("../../../php/src/autoload.php", import.meta.url).pathname)
      };
      var_dump(Fairlead\\Worker::available()); Fairlead\\Worker::create();`,
    );
    const { lastWords } = await bare.gone();
    expect(lastWords).toContain("bool(false)");
    expect(lastWords.join("\n")).toContain("Expected to be started by Fairlead as a worker");
  });

  test("fails a request that comes too late, as one that was not sent", async () => {
    const one = await world.start(`$worker->next(); usleep(1);`).up();
    one.send();
    await one.gone();
    const other = await world.start(loop).up();
    other.worker.stop();
    await until("its end", () => {
      try {
        const sink = other.send();
        return (sink.error as CoreError | undefined)?.code === "PHP_WORKER_LEFT" || other.exit !== undefined;
      } catch (error) {
        return (error as CoreError).code !== "PHP_WORKER_BUSY";
      }
    });
    await other.gone();
  });
});
