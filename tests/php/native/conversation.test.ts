import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { CoreError } from "../../../core/error.ts";
import { Conversation } from "../../../plugins/php/native/conversation.ts";
import type { LogLine } from "../../../plugins/php/native/log_line.ts";
import { requestEncoder } from "../../../plugins/php/native/request.ts";
import { cut, frame, join, Socket } from "./support/frames.ts";
import { ask } from "./support/request.ts";
import { Sink } from "./support/sink.ts";

const [HELLO, REQUEST, REPLY, EARLY, GONE, STOP, LEAVING, LOG, ENDED] = [1, 2, 3, 4, 5, 6, 7, 9, 10];
const [LAST, READY, CUT] = [1, 2, 4];

class World {
  readonly socket = new Socket();
  readonly told: string[] = [];
  readonly logged: LogLine[] = [];
  broken: CoreError | undefined;
  readonly talk: Conversation = new Conversation(this.socket, new Uint8Array(0), requestEncoder("fairlead/1"), {
    onAnswered: () => void this.told.push("answered"),
    onReady: () => void this.told.push("ready"),
    onStopAsked: () => void this.told.push("stop asked"),
    onBroken: (error) => {
      this.told.push("broken");
      this.broken = error;
    },
    onLog: (line) => void this.logged.push(line),
    onLine: () => void this.told.push("line"),
    onClosed: (expected) => void this.told.push(expected ? "closed as expected" : "closed"),
  });

  send(): Sink {
    const sink = new Sink();
    const { onEnd, onFail } = sink;
    sink.onEnd = (status) => {
      this.told.push("end");
      onEnd.call(sink, status);
    };
    sink.onFail = (error, progress) => {
      this.told.push(`fail ${error.code} ${progress}`);
      onFail.call(sink, error, progress);
    };
    this.talk.send(ask(), sink);
    return sink;
  }

  get number(): number {
    return this.socket.frames.findLast((one) => one.type === REQUEST)!.number;
  }

  php(...frames: readonly Uint8Array[]): void {
    this.socket.emit("data", join(frames));
  }

  reply(flags: number, payload = "", number = this.number): void {
    this.php(frame(REPLY, flags, number, payload));
  }
}

describe("a conversation", () => {
  test("carries one request after the other, wherever the answers are cut", () => {
    const answer = fc.record({
      pieces: fc.array(fc.string({ maxLength: 20 }), { maxLength: 5 }),
      early: fc.boolean(),
      readyLater: fc.boolean(),
      cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 }),
    });
    fc.assert(fc.property(fc.array(answer, { minLength: 1, maxLength: 5 }), (answers) => {
      const world = new World();
      for (const { pieces, early, readyLater, cuts } of answers) {
        const sink = world.send();
        const n = world.number;
        const bytes = join([
          ...(early ? [frame(EARLY, 0, n, "Status: 103\r\nLink: </a.css>\r\n\r\n")] : []),
          ...pieces.map((piece) => frame(REPLY, 0, n, piece)),
          frame(REPLY, readyLater ? LAST : LAST | READY, n, "!"),
          ...(readyLater ? [frame(REPLY, READY, n)] : []),
        ]);
        for (const chunk of cut(bytes, cuts)) world.php(chunk);
        expect(sink.stdout).toBe(`${pieces.join("")}!`);
        expect(sink.early.map((head) => head.headers)).toEqual(early ? [[["Link", "</a.css>"]]] : []);
        expect(sink.finals).toBe(1);
        expect(world.talk.state).toBe("idle");
        expect(world.told.splice(0)).toEqual(["end", "answered", "ready"]);
      }
      expect(world.socket.frames.map((one) => one.number)).toEqual(answers.map((_, i) => i + 1));
    }));
  });

  test("has one request at a time", () => {
    const world = new World();
    world.send();
    expect(() => world.send()).toThrow("Expected a worker that is ready");
    world.reply(LAST);
    // Its process still works on.
    expect(() => world.send()).toThrow("Expected a worker that is ready");
    expect(world.told).toEqual(["end", "answered"]);
    world.reply(READY);
    world.send();
    expect(world.socket.frames.length).toBe(2);
  });

  test("takes a frame out of turn for what it is", () => {
    const cases: readonly (readonly [string, (world: World) => void])[] = [
      ["while no request runs", (w) => w.php(frame(REPLY, 0, 1, "x"))],
      ["while no request runs", (w) => w.php(frame(REPLY, LAST | READY, 0))],
      ["while no request runs", (w) => w.php(frame(REPLY, READY, 0))],
      ["while no request runs", (w) => w.php(frame(EARLY, 0, 1, "Status: 103\r\n\r\n"))],
      ["of type 1 ", (w) => w.php(frame(HELLO, 0, 0))],
      ["of type 10 ", (w) => w.php(frame(ENDED, 0, 0))],
      ["without a level", (w) => w.php(frame(LOG, 0, 0))],
      ["without a level", (w) => w.php(frame(LOG, 0, 0, "\x04x"))],
      ["of request 2 while 1", (w) => (w.send(), w.reply(0, "x", 2))],
      ["of request 0 while 1", (w) => (w.send(), w.reply(LAST, "", 0))],
      ["leave in request 9", (w) => (w.send(), w.php(frame(LEAVING, 0, 9)))],
      ["the answer is not whole", (w) => (w.send(), w.reply(READY))],
      ["whole and broken off", (w) => (w.send(), w.reply(LAST | CUT))],
      ["whole already", (w) => (w.send(), w.reply(LAST), w.reply(0, "more"))],
      ["whole already", (w) => (w.send(), w.reply(LAST), w.reply(LAST))],
      ["whole already", (w) => (w.send(), w.reply(LAST), w.reply(READY, "x"))],
      ["behind the final one", (w) => (w.send(), w.reply(0, "x"), w.php(frame(EARLY, 0, 1, "Status: 103\r\n\r\n")))],
      ["early response that is none", (w) => (w.send(), w.php(frame(EARLY, 0, 1, "Status: 103\r\n")))],
      ["early response that is none", (w) => (w.send(), w.php(frame(EARLY, 0, 1, "Status: 200\r\n\r\n")))],
      ["header lines", (w) => (w.send(), w.php(frame(EARLY, 0, 1, "what\r\n\r\n")))],
    ];
    for (const [says, act] of cases) {
      const world = new World();
      act(world);
      expect([says, world.broken?.message ?? "nothing"]).toEqual([says, expect.stringContaining(says)]);
      expect(world.broken!.status).toBe(502);
      // Nothing counts any more.
      const before = world.told.length;
      world.php(frame(REPLY, LAST | READY, 1));
      expect(world.told.length).toBe(before);
    }
  });

  test("tells a response that PHP breaks off from a whole one", () => {
    const world = new World();
    const sink = world.send();
    world.reply(0, "half");
    world.reply(CUT | READY);
    expect(sink.stdout).toBe("half");
    expect(world.told).toEqual(["fail PHP_RESPONSE_CUT touched", "answered", "ready"]);
  });

  test("forgets the sink of a cancelled request, and waits until the process is free", () => {
    const world = new World();
    const sink = world.send();
    world.reply(0, "one");
    world.talk.pause();
    world.talk.cancel();
    world.talk.cancel();
    expect(world.socket.frames.slice(1)).toEqual([{ type: GONE, number: 1, payload: expect.anything() }]);
    expect(world.socket.paused).toBe(false);
    world.reply(0, "two");
    world.reply(LAST);
    world.talk.cancel();
    expect(world.told).toEqual(["answered"]);
    world.reply(READY);
    expect(sink.stdout).toBe("one");
    expect(sink.finals).toBe(0);
    expect(world.talk.state).toBe("idle");
    // Too late, or too early: there is nothing to cancel.
    world.talk.cancel();
    expect(world.socket.frames.length).toBe(2);
  });

  test("stops reading for a sink that has enough, until its request is over", () => {
    const world = new World();
    world.talk.pause();
    expect(world.socket.paused).toBe(false);
    const sink = world.send();
    sink.onChunk = () => world.talk.pause();
    world.reply(0, "one");
    expect(world.socket.paused).toBe(true);
    world.talk.resume();
    expect(world.socket.paused).toBe(false);
    world.reply(0, "two");
    expect(world.socket.paused).toBe(true);
    // What was read before still comes.
    world.reply(LAST | READY, "three");
    expect(world.socket.paused).toBe(false);
    expect(sink.stdout).toBe("onetwothree");
    // When the process has ended, all is read.
    world.send().onChunk = () => world.talk.pause();
    world.reply(0, "x");
    world.talk.drain();
    world.reply(0, "x");
    expect(world.socket.paused).toBe(false);
  });

  test("fails the request of a sink that throws, and goes on", () => {
    const world = new World();
    const sink = world.send();
    sink.onChunk = () => {
      throw new Error("no head");
    };
    world.reply(0, "x");
    world.reply(LAST | READY, "y");
    expect(sink.chunks.length).toBe(1);
    expect(world.told).toEqual(["fail PHP_PROTOCOL touched", "answered", "ready"]);
  });

  test("passes on what the process wishes and logs", () => {
    const world = new World();
    world.php(frame(LOG, 0, 0, "\x00booted"), frame(LEAVING, 0, 0));
    world.send();
    world.php(frame(LOG, 0, 1, '\x03caf\u00e9\0{"a":1}'), frame(LEAVING, 0, 1));
    expect(world.told).toEqual(["stop asked", "stop asked"]);
    expect(world.logged).toEqual([
      { level: "debug", message: "booted", context: "" },
      { level: "error", message: "caf\u00e9", context: '{"a":1}' },
    ]);
    world.talk.stop();
    world.talk.stop();
    expect(world.socket.frames.map((one) => one.type)).toEqual([REQUEST, STOP]);
  });

  test("tells an end that was agreed on from a loss", () => {
    const closings: readonly (readonly [string, (world: World) => void])[] = [
      ["closed", () => {}],
      ["closed", (w) => void w.send()],
      ["closed as expected", (w) => w.talk.stop()],
      ["closed as expected", (w) => w.php(frame(LEAVING, 0, 0))],
      ["closed", (w) => (w.php(frame(LEAVING, 0, 0)), void w.send())],
      ["closed as expected", (w) => (w.send(), w.php(frame(LEAVING, 0, 1)), w.reply(LAST))],
    ];
    for (const [word, act] of closings) {
      const world = new World();
      act(world);
      world.socket.emit("end");
      world.socket.emit("close");
      expect(world.told.filter((text) => text.startsWith("closed"))).toEqual([word]);
      expect(world.socket.destroyed).toBe(true);
      const sink = world.send();
      expect([sink.error!.code, sink.progress]).toEqual(["PHP_WORKER_LEFT", "unsent"]);
    }
  });

  test("is silent when it was destroyed, even from within what it tells", () => {
    const world = new World();
    const sink = world.send();
    sink.onChunk = () => world.talk.destroy();
    world.php(frame(REPLY, 0, 1, "x"), frame(REPLY, LAST | READY, 1), frame(LEAVING, 0, 0), frame(99, 0, 0));
    world.socket.emit("close");
    expect(world.told).toEqual([]);
    expect(sink.finals).toBe(0);
  });
});
