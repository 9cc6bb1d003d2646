/** The package `fairlead/worker`, as real PHP processes use it: `serve`, the log, and the end of a worker. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { createServer } from "node:net";
import { writeFileSync } from "node:fs";
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
