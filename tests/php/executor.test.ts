import type { FcgiRequest } from "../../plugins/php/fastcgi/request.ts";
import { describe, expect, test } from "bun:test";
import type { CoreError } from "../../core/error.ts";
import { type ExecutionEnd, PhpExecutor } from "../../plugins/php/executor.ts";
import { greeting } from "../../plugins/php/fastcgi/greet.ts";
import { type ExchangeInit, TestExchange } from "../support/exchange.ts";
import { end, type FakeSocket, record, settle, text } from "./fastcgi/support.ts";
import { World } from "./fastcgi/world.ts";

const STDOUT = 6;

/** An executor over fake php-fpm children and a virtual clock. */
class Bench {
  readonly ends: ExecutionEnd[] = [];
  readonly killedLate: number[] = [];
  readonly logged: string[] = [];
  readonly world: World;
  readonly executor: PhpExecutor<FcgiRequest>;
  free = 0;

  constructor(size: number) {
    const greet = greeting([]);
    this.world = new World({
      size,
      greet: async (connection) => {
        const pid = await greet(connection);
        this.executor.greeted(pid);
        return pid;
      },
    });
    this.executor = new PhpExecutor({
      pool: this.world.pool,
      clock: this.world.clock,
      killChild: (pid) => this.killedLate.push(pid) > 0,
      onStderr: (_x, _pid, line) => void this.logged.push(line),
      onEnd: (how) => void this.ends.push(how),
    });
  }

  static async up(size: number = 1): Promise<Bench> {
    const bench = new Bench(size);
    bench.world.pool.start();
    await bench.world.bringUp();
    return bench;
  }

  /** Runs an exchange that holds one permit; `deadline` in ms on the virtual clock. */
  run(init: ExchangeInit = {}, deadline: number = 60_000): { x: TestExchange; response: Promise<Response> } {
    const x = new TestExchange("/index.php", init);
    Object.defineProperty(x, "deadline", { value: deadline });
    x.keep({ release: () => void this.free++ });
    const response = this.executor.run(x, { params: [] }, undefined);
    // As the core does: whoever looks at neither must not be told of an unhandled rejection.
    response.then(() => x.sent?.catch(() => {}), () => {});
    return { x, response };
  }

  /** Brings successors up without letting time pass: while something runs, its watch ticks for ever. */
  async replace(): Promise<void> {
    for (let i = 0; i < 3; i++) {
      await settle();
      // The first attempt may come after a pause of 10 ms.
      if (i === 0 && this.world.attempts.size === 0) this.world.clock.advance(10);
      for (const attempt of this.world.attempts) attempt.accept();
      await settle();
      for (const socket of this.world.ungreeted) this.world.greet(socket);
    }
    await settle();
  }

  /** The socket of the child at work: the only one with something written and no greeting to answer. */
  get socket(): FakeSocket {
    return this.world.children[0]!;
  }
}

const failure = (response: Promise<Response>): Promise<CoreError> => response.then(() => Promise.reject(), (e) => e);

describe("an execution", () => {
  test("answers in one piece, frees the process, gives the permit back, and tells how it ended", async () => {
    const bench = await Bench.up();
    const { x, response } = bench.run();
    expect([bench.free, bench.world.pool.busy]).toEqual([0, 1]);
    bench.socket.answer("Status: 201 Created\r\nX-A: 1\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\nhello");
    expect([bench.free, bench.world.pool.busy, x.held]).toEqual([1, 0, true]);
    const got = await response;
    expect([got.status, got.headers.get("x-a"), got.headers.get("x-request-id"), await got.text()])
      .toEqual([201, "1", x.id, "hello"]);
    expect(got.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect([bench.ends, x.handler, x.bytes]).toEqual([["ok"], "php", 5]);
    expect(bench.world.clock.pending).toBe(1);
    bench.world.clock.advance(25);
    expect(bench.world.clock.pending).toBe(0);
  });

  test("waits for a process that is being replaced, and keeps its place", async () => {
    const bench = await Bench.up();
    bench.socket.emit("end");
    const { response } = bench.run();
    await bench.replace();
    bench.socket.answer("\r\nlate");
    expect(await (await response).text()).toBe("late");
  });

  test("past its deadline it is a 504, its process is killed, and the permit waits for the successor", async () => {
    const bench = await Bench.up();
    const { response } = bench.run({}, 1000);
    const pid = bench.world.sockets.get(bench.socket)!;
    bench.world.clock.advance(1024);
    const error = await failure(response);
    expect([error.code, error.status]).toEqual(["PHP_TIMEOUT", 504]);
    expect([bench.world.killed, bench.free, bench.ends]).toEqual([[{ pid, reason: "timeout" }], 0, ["timeout"]]);
    await bench.replace();
    expect([bench.free, bench.world.pool.alive]).toEqual([1, 1]);
  });

  test("past its deadline while it waits for a process it leaves the line", async () => {
    const bench = await Bench.up();
    bench.socket.emit("end");
    const { response } = bench.run({}, 50);
    bench.world.clock.advance(60);
    expect((await failure(response)).code).toBe("PHP_TIMEOUT");
    expect([bench.free, bench.world.pool.waiting]).toEqual([1, 0]);
  });

  test("when the client leaves, PHP is hung up on; the permit waits until a process is free", async () => {
    const bench = await Bench.up();
    const { x, response } = bench.run();
    x.leave();
    bench.world.clock.advance(25);
    expect((await failure(response)).status).toBe(499);
    expect([bench.free, bench.world.killed, bench.ends]).toEqual([0, [], ["left"]]);
    await bench.replace();
    expect(bench.free).toBe(1);
  });

  test("a deserted process is killed at its request's deadline, but not once it has been greeted again", async () => {
    const silent = await Bench.up();
    const one = silent.run({}, 500);
    const pid = silent.world.sockets.get(silent.socket)!;
    one.x.leave();
    silent.world.clock.advance(499);
    expect(silent.killedLate).toEqual([]);
    silent.world.clock.advance(26);
    expect(silent.killedLate).toEqual([pid]);

    const noticed = await Bench.up();
    const two = noticed.run({}, 500);
    const same = noticed.world.sockets.get(noticed.socket)!;
    two.x.leave();
    noticed.world.clock.advance(25);
    await settle();
    for (const attempt of noticed.world.attempts) attempt.accept();
    await settle();
    noticed.world.ungreeted[0]!.answer(`\r\n${same}`);
    await settle();
    noticed.world.clock.advance(1000);
    expect([noticed.killedLate, noticed.free]).toEqual([[], 1]);
  });

  test("a GET that met a process which had died while idle is sent again, once; a POST is not", async () => {
    const bench = await Bench.up();
    const warm = bench.run();
    bench.socket.answer("\r\nwarm");
    await warm.response;
    const get = bench.run();
    bench.socket.emit("end");
    await bench.replace();
    bench.socket.answer("\r\nsecond");
    expect([await (await get.response).text(), bench.ends, bench.free]).toEqual(["second", ["ok", "ok"], 2]);

    const again = bench.run();
    bench.socket.emit("end");
    await bench.replace();
    bench.socket.emit("end");
    expect((await failure(again.response)).code).toBe("PHP_CHILD_DIED");
    await bench.replace();
    const filled = bench.run();
    bench.socket.answer("\r\nwarm");
    await filled.response;
    const post = bench.run({ method: "POST" });
    bench.socket.emit("end");
    expect((await failure(post.response)).code).toBe("PHP_CHILD_DIED");
  });

  test("a process that dies before it has said a word is a 502, and its permit comes back with the next", async () => {
    const bench = await Bench.up();
    const { response } = bench.run({ method: "POST" });
    bench.socket.emit("end");
    expect((await failure(response)).status).toBe(502);
    expect([bench.free, bench.ends]).toEqual([0, ["error"]]);
    await bench.replace();
    expect(bench.free).toBe(1);
  });

  test("what PHP logs is told with the exchange, not to the client", async () => {
    const bench = await Bench.up();
    const { response } = bench.run();
    const id = bench.socket.lastId;
    bench.socket.emit("data", record(7, id, text("PHP message: careful")));
    bench.socket.answer("\r\nfine");
    expect([await (await response).text(), bench.logged]).toEqual(["fine", ["PHP message: careful"]]);
  });
});

describe("what a process runs", () => {
  const told = (bench: Bench) => [...bench.executor.pids()].map((pid) => [pid, bench.executor.byPid(pid)?.id]);

  test("is told from the first byte sent to the last received", async () => {
    const bench = await Bench.up(2);
    expect(told(bench)).toEqual([]);
    bench.world.clock.advance(7);
    const [first, second] = [bench.run(), bench.run()];
    const [pid, other] = bench.world.children.map((socket) => bench.world.sockets.get(socket)!);
    expect(told(bench)).toEqual([[pid, first.x.id], [other, second.x.id]]);
    const { id, target, deadline } = first.x;
    expect(bench.executor.byPid(pid!)).toEqual({ id, target, deadline, started: bench.world.clock.now() });
    bench.socket.answer("\r\nfine");
    await first.response;
    expect(told(bench)).toEqual([[other, second.x.id]]);
    expect(bench.executor.byPid(pid!)).toBeUndefined();
  });

  test("is not told of one that waits for a process, nor of a process that has not told its pid", async () => {
    const bench = new Bench(1);
    bench.world.pool.start();
    bench.run();
    expect(told(bench)).toEqual([]);
    expect(bench.executor.byPid(0)).toBeUndefined();
  });

  test("is told of a process that runs on for nobody, until it is greeted again", async () => {
    const bench = await Bench.up();
    const { x } = bench.run();
    const pid = bench.world.sockets.get(bench.socket)!;
    x.leave();
    bench.world.clock.advance(25);
    expect(told(bench)).toEqual([[pid, x.id]]);
    bench.executor.greeted(pid);
    expect(told(bench)).toEqual([]);
  });

  test("is told for a second more of a process that was ended at its deadline", async () => {
    for (const leaves of [false, true]) {
      const bench = await Bench.up();
      const { x, response } = bench.run({}, 50);
      response.catch(() => {});
      const pid = bench.world.sockets.get(bench.socket)!;
      if (leaves) x.leave();
      for (let at = 0; at < 1000; at += 25) bench.world.clock.advance(25);
      expect(told(bench)).toEqual([[pid, x.id]]);
      for (let at = 0; at < 100; at += 25) bench.world.clock.advance(25);
      expect(told(bench)).toEqual([]);
    }
  });
});

describe("when what a process runs has ended", () => {
  /** Counts the ends told of the process at work. */
  const watched = (bench: Bench) => {
    const pid = bench.world.sockets.get(bench.socket)!;
    const told = { ends: 0, pid };
    expect(bench.executor.whenEnded(pid, () => void told.ends++)).toBeInstanceOf(Function);
    return told;
  };

  test("is told once, before the process is there for the next; nothing is told of one that runs nothing", async () => {
    const bench = await Bench.up();
    const { x, response } = bench.run();
    const told = watched(bench);
    let free = -1;
    bench.executor.whenEnded(told.pid, () => void (free = bench.free));
    const never = bench.executor.whenEnded(told.pid, () => void (told.ends = 99))!;
    never();
    expect([told.ends, bench.executor.whenEnded(0, () => {}), bench.executor.whenEnded(1, () => {})])
      .toEqual([0, undefined, undefined]);
    bench.socket.answer("\r\nfine");
    expect([told.ends, free, bench.free, x.held]).toEqual([1, 0, 1, true]);
    await response;
    expect(bench.executor.whenEnded(told.pid, () => {})).toBeUndefined();
    await Promise.resolve(bench.run());
    bench.socket.answer("\r\nfine");
    expect(told.ends).toBe(1);
  });

  test("is told when the process dies, and when it is ended at its deadline", async () => {
    for (const how of ["dies", "is killed"]) {
      const bench = await Bench.up();
      const { response } = bench.run({ method: "POST" }, 1000);
      response.catch(() => {});
      const told = watched(bench);
      if (how === "dies") bench.socket.emit("end");
      else bench.world.clock.advance(1024);
      expect([how, told.ends]).toEqual([how, 1]);
      // Also while it is still told what it ran.
      expect(bench.executor.whenEnded(told.pid, () => {})).toBeUndefined();
      bench.executor.greeted(told.pid);
      bench.executor.close();
      expect(told.ends).toBe(1);
    }
  });

  test("of a process that runs on for nobody, is told when it is greeted again or ended", async () => {
    for (const how of ["greeted", "killed", "closed"]) {
      const bench = await Bench.up();
      const { x, response } = bench.run({}, 500);
      response.catch(() => {});
      const told = watched(bench);
      x.leave();
      bench.world.clock.advance(25);
      const late = { ends: 0 };
      bench.executor.whenEnded(told.pid, () => void late.ends++);
      expect([told.ends, late.ends]).toEqual([0, 0]);
      if (how === "greeted") bench.executor.greeted(told.pid);
      else if (how === "killed") bench.world.clock.advance(501);
      else bench.executor.close();
      expect([how, told.ends, late.ends]).toEqual([how, 1, 1]);
    }
  });

  test("of a request that is sent again, is told of the first process, and then of the second", async () => {
    const bench = await Bench.up();
    const warm = bench.run();
    bench.socket.answer("\r\nwarm");
    await warm.response;
    const { response } = bench.run();
    const first = watched(bench);
    bench.socket.emit("end");
    expect(first.ends).toBe(1);
    await bench.replace();
    const second = watched(bench);
    expect([first.ends, second.ends]).toEqual([1, 0]);
    bench.socket.answer("\r\nsecond");
    await response;
    expect([first.ends, second.ends]).toEqual([1, 1]);
  });
});

describe("a stream", () => {
  const begin = (bench: Bench, head: string, body: string) => {
    const id = bench.socket.lastId;
    bench.socket.emit("data", record(STDOUT, id, text(`${head}\r\n\r\n${body}`)));
    return {
      more: (part: string | Uint8Array) =>
        bench.socket.emit("data", record(STDOUT, id, typeof part === "string" ? text(part) : part)),
      finish: () => bench.socket.emit("data", end(id)),
    };
  };

  test("begins when output pauses, ends with PHP, and frees the process although the client is slow", async () => {
    const bench = await Bench.up();
    const { x, response } = bench.run();
    const php = begin(bench, "X: 1", "one ");
    bench.world.clock.advance(120);
    const got = await response;
    php.more("two");
    php.finish();
    expect([bench.free, bench.ends]).toEqual([1, ["ok"]]);
    expect(await got.text()).toBe("one two");
    await x.sent;
    expect(x.bytes).toBe(7);
  });

  test("begins at once for server-sent events", async () => {
    const bench = await Bench.up();
    const { response } = bench.run();
    begin(bench, "Content-Type: text/event-stream", "");
    const reader = (await response).body!.getReader();
    bench.socket.emit("data", record(STDOUT, bench.socket.lastId, text("data: 1\n\n")));
    expect(new TextDecoder().decode((await reader.read()).value as Uint8Array)).toBe("data: 1\n\n");
  });

  test("is cut off when PHP dies, and never ends as if whole", async () => {
    const bench = await Bench.up();
    const { x, response } = bench.run();
    begin(bench, "X: 1", "half");
    bench.world.clock.advance(120);
    const body = (await response).text().then(() => "whole", () => "cut");
    bench.socket.emit("end");
    expect(await body).toBe("cut");
    expect(await x.sent!.then(() => "sent", (e) => e.code)).toBe("PHP_CHILD_DIED");
  });

  test("holds PHP back while the client takes nothing, and lets it go on", async () => {
    const bench = await Bench.up();
    const { response } = bench.run();
    const php = begin(bench, "Content-Type: text/event-stream", "");
    const reader = (await response).body!.getReader();
    for (let i = 0; i < 17; i++) php.more(new Uint8Array(65_528));
    expect(bench.socket.paused).toBe(true);
    let got = 0;
    while (got < 17 * 65_528) got += ((await reader.read()).value as Uint8Array).byteLength;
    expect(bench.socket.paused).toBe(false);
  });

  test("that the client gives up hangs up on PHP", async () => {
    const bench = await Bench.up();
    const { response } = bench.run();
    begin(bench, "Content-Type: text/event-stream", "data: 1\n\n");
    await (await response).body!.cancel();
    expect([bench.ends, bench.free]).toEqual([["left"], 0]);
    await bench.replace();
    expect(bench.free).toBe(1);
  });
});

describe("lengths", () => {
  const answer = async (method: string, output: string) => {
    const bench = await Bench.up();
    const { response } = bench.run({ method });
    bench.socket.answer(output);
    return response;
  };

  test("more than declared is cut, less is an error, none is measured", async () => {
    expect(await (await answer("GET", "Content-Length: 3\r\n\r\nabcdef")).text()).toBe("abc");
    expect((await failure(answer("GET", "Content-Length: 9\r\n\r\nabc"))).code).toBe("PHP_BODY_CUT");
    expect(await (await answer("GET", "X: 1\r\n\r\nabc")).text()).toBe("abc");
  });

  test("a length that is none is not sent on, nor an empty content type", async () => {
    for (const none of ["Content-Length: abc", "Content-Length: 3\r\nContent-Length: 5", "Content-Length: -1"]) {
      expect((await answer("HEAD", `${none}\r\nX: 1\r\n\r\n`)).headers.get("content-length")).toBe(null);
    }
    expect([...(await answer("GET", "Content-Type: \r\nX: 1\r\n\r\na")).headers.keys()]).not.toContain("content-type");
  });

  test("a HEAD keeps the length and has no body; 204 and 304 have none", async () => {
    const head = await answer("HEAD", "Content-Length: 9\r\n\r\n");
    expect([head.headers.get("content-length"), await head.text()]).toEqual(["9", ""]);
    for (const status of [204, 304]) {
      const bare = await answer("GET", `Status: ${status} X\r\nContent-Type: text/html\r\n\r\nignored`);
      expect([bare.status, await bare.text()]).toEqual([status, ""]);
    }
  });

  test("headers between two hops are PHP's no more, and a head that HTTP does not have is a 502", async () => {
    const got = await answer(
      "GET",
      "Connection: close\r\nTransfer-Encoding: chunked\r\nKeep-Alive: x\r\nX: 1\r\n\r\na",
    );
    expect([...got.headers.keys()].filter((name) => name !== "x-request-id" && name !== "content-type")).toEqual(["x"]);
    expect((await failure(answer("GET", "no head at all"))).status).toBe(502);
  });
});
