import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { Buffer } from "node:buffer";
import type { CoreError } from "../../../core/error.ts";
import { Conversation } from "../../../plugins/php/goridge/conversation.ts";
import { CONTROL, encodeFrame, ERROR, PING, PONG, STOP, STREAM } from "../../../plugins/php/goridge/frame.ts";
import { FrameReader } from "../../../plugins/php/goridge/frame_reader.ts";
import { VirtualClock } from "../fastcgi/support.ts";
import { Answer, joined } from "./support.ts";

const pid = 77;

function answer(status: number, body: string, stream = 0): Uint8Array {
  const head = status === 0 ? "" : `{"status":${status},"headers":{}}`;
  return encodeFrame(0, [head.length], Buffer.from(head + body), stream);
}

const handshake = encodeFrame(CONTROL, [], Buffer.from(`{"pid":${pid}}`));
const failed = (text: string) => encodeFrame(ERROR, [], Buffer.from(text));
const stopAnswer = encodeFrame(0, [13], Buffer.from('{"stop":true}'));

/** What the host wrote: requests by their body, the rest by its kind. */
class Written {
  readonly all: string[] = [];
  writes = 0;
  readonly #reader: FrameReader;
  #body: Uint8Array[] = [];
  #kind = "";

  constructor(onFrame: (kind: string) => void = () => {}) {
    this.#reader = new FrameReader({
      onFrame: (frame, head) => {
        this.#body = [];
        const text = Buffer.from(head).toString();
        this.#kind = frame.flags & CONTROL
          ? text.includes("stop") ? "stop worker" : "question"
          : frame.stream & STOP
          ? "stop stream"
          : frame.stream & PONG
          ? "pong"
          : "";
      },
      onBody: (bytes) => this.#body.push(bytes),
      onFrameEnd: () => {
        const kind = this.#kind || Buffer.from(joined(this.#body)).toString();
        this.all.push(kind);
        onFrame(kind);
      },
    });
  }
  write(bytes: Uint8Array): void {
    this.writes++;
    this.#reader.push(bytes);
    // A worker that reads a header in pieces dies.
    if (!this.#reader.fresh) throw new Error("half a frame was written");
  }
  take(): string[] {
    return this.all.splice(0);
  }
}

class Talk {
  readonly written: Written;
  readonly clock = new VirtualClock();
  readonly log: string[] = [];
  readonly lines: string[] = [];
  broken: CoreError | undefined;
  onReady: () => void = () => {};
  readonly conversation: Conversation;

  constructor(fenced: boolean, onFrame?: (kind: string) => void) {
    this.written = new Written(onFrame);
    this.conversation = new Conversation({
      write: (bytes) => this.written.write(bytes),
      onReady: () => {
        this.log.push("ready");
        this.onReady();
      },
      onStopAsked: () => this.log.push("stop asked"),
      onBroken: (error) => this.broken = error,
      onLine: (text) => this.lines.push(text),
      onStuck: () => this.log.push("stuck"),
    }, { pid, hostPid: 1, stopGraceMs: 1000, trust: { fenced }, clock: this.clock });
  }
  data(...frames: readonly Uint8Array[]): void {
    this.conversation.data(joined(frames));
  }
  send(body: string): Answer {
    const sink = new Answer();
    this.conversation.send(encodeFrame(8, [2], Buffer.from(`{}${body}`)), sink);
    return sink;
  }
  /** Past the requests that are always fenced. */
  static seasoned(): Talk {
    const talk = new Talk(false);
    talk.data(handshake);
    for (let i = 0; i < 16; i++) {
      talk.send("early");
      talk.data(handshake, answer(200, "early"));
    }
    talk.log.length = 0;
    talk.written.take();
    return talk;
  }
}

describe("what is written", () => {
  test("the question of the handshake comes first, and a fenced request goes out in one write", () => {
    const talk = new Talk(true);
    expect(talk.written.take()).toEqual(["question"]);
    talk.data(handshake);
    expect(talk.log).toEqual(["ready"]);
    const writes = talk.written.writes;
    talk.send("a");
    expect(talk.written.take()).toEqual(["question", "a"]);
    expect(talk.written.writes).toBe(writes + 1);
  });

  test("a plain worker is asked nothing more than its requests, once it has served some", () => {
    const talk = Talk.seasoned();
    for (let i = 0; i < 5; i++) {
      const sink = talk.send(`r${i}`);
      talk.data(answer(200, `a${i}`));
      expect([sink.body, sink.finals]).toEqual([`a${i}`, 1]);
    }
    expect(talk.written.take()).toEqual(["r0", "r1", "r2", "r3", "r4"]);
  });

  test("a worker that is kept awake is asked one question at a time, while it is idle", () => {
    const talk = Talk.seasoned();
    talk.conversation.keepAwake();
    talk.conversation.keepAwake();
    expect(talk.written.take()).toEqual(["question"]);
    talk.data(handshake);
    expect([talk.conversation.idle, talk.log]).toEqual([true, []]);
    talk.conversation.keepAwake();
    // A request that follows is not taken for answered by an answer that comes before that to the question.
    const sink = talk.send("a");
    talk.conversation.keepAwake();
    expect(talk.written.take()).toEqual(["question", "question", "a"]);
    talk.data(answer(200, "stale"), handshake, handshake, answer(200, "of a"));
    expect([sink.body, sink.finals, talk.log]).toEqual(["of a", 1, ["ready"]]);
  });

  test("the request after an answer that was not plain is fenced", () => {
    for (
      const frames of [[failed("x")], [answer(500, "x")], [answer(200, "x", STREAM), answer(0, "")], [answer(9, "x")]]
    ) {
      const talk = Talk.seasoned();
      talk.send("a");
      talk.data(...frames, handshake);
      expect(talk.log).toEqual(["ready"]);
      talk.written.take();
      talk.send("b");
      expect(talk.written.take()).toEqual(["question", "b"]);
      talk.data(handshake, answer(200, "b"));
      talk.send("c");
      expect(talk.written.take()).toEqual(["c"]);
    }
    const talk = Talk.seasoned();
    talk.send("a");
    talk.conversation.cancel();
    talk.data(answer(200, "x"));
    talk.written.take();
    talk.send("b");
    expect(talk.written.take()).toEqual(["question", "b"]);
  });

  test("a ping is answered, a stream that nobody reads is stopped once, and ended when it goes on", () => {
    const talk = Talk.seasoned();
    const sink = talk.send("a");
    talk.data(answer(200, "x", STREAM), answer(0, "y", STREAM | PING));
    expect(talk.written.take()).toEqual(["a", "pong"]);
    talk.conversation.cancel();
    talk.conversation.cancel();
    talk.data(answer(0, "z", STREAM));
    expect(talk.written.take()).toEqual(["stop stream"]);
    expect([sink.body, sink.finals]).toEqual(["xy", 0]);
    talk.clock.advance(999);
    expect(talk.log).toEqual([]);
    talk.clock.advance(1);
    expect(talk.log).toEqual(["stop asked", "stuck"]);
  });

  test("a stream that ends in time is no reason to end its worker", () => {
    const talk = Talk.seasoned();
    talk.send("a");
    talk.conversation.cancel();
    talk.data(answer(103, "", STREAM));
    expect(talk.written.take()).toEqual(["a"]);
    talk.data(answer(200, "x", STREAM));
    expect(talk.written.take()).toEqual(["stop stream"]);
    talk.data(answer(0, ""));
    talk.clock.advance(10_000);
    expect(talk.log).toEqual(["ready"]);
    expect(talk.clock.pending).toBe(0);
  });

  test("a wish to stop waits for the answer", () => {
    const talk = Talk.seasoned();
    const sink = talk.send("a");
    talk.conversation.stop();
    expect(talk.written.take()).toEqual(["a"]);
    talk.data(answer(200, "b"));
    expect([sink.body, talk.written.take(), talk.log]).toEqual(["b", ["stop worker"], []]);
  });
});

describe("an answer that may be a second one", () => {
  test("is told when the worker waits again", () => {
    for (const [frame, told] of [[failed("it"), "PHP_WORKER_ERROR"], [answer(500, "it"), undefined]] as const) {
      const talk = Talk.seasoned();
      const sink = talk.send("a");
      talk.data(frame);
      expect([sink.finals, talk.log, talk.written.take()]).toEqual([0, [], ["a", "question"]]);
      talk.data(handshake);
      expect([sink.finals, sink.late, sink.error?.code, talk.log]).toEqual([1, 0, told, ["ready"]]);
      expect(sink.body).toBe(told === undefined ? "it" : "");
    }
  });

  test("is dropped when another comes", () => {
    const talk = Talk.seasoned();
    const sink = talk.send("a");
    talk.data(answer(500, "not yours"), failed("nor this"), answer(200, "yours"), handshake);
    expect([sink.body, sink.finals, sink.error]).toEqual(["yours", 1, undefined]);
    expect(talk.lines.length > 0).toBe(true);
    talk.written.take();
    talk.send("b");
    expect(talk.written.take()).toEqual(["question", "b"]);
  });

  test("is told when the worker has ended behind it", () => {
    const talk = Talk.seasoned();
    const sink = talk.send("a");
    talk.data(answer(500, "fatal"));
    talk.conversation.end();
    expect([sink.head?.status, sink.body, sink.finals]).toEqual([500, "fatal", 1]);
  });
});

/** What a worker does with a request; each is a frame or two, the second of which belongs to nobody. */
const deeds = ["ok", "ok+error", "500", "500+error", "error", "ok+stop", "stream", "stream+ok", "early"] as const;
const doubles = [...deeds, "ok+ok", "ok+500+error", "error+ok", "500+ok"] as const;

function framesOf(deed: string, body: string): Uint8Array[] {
  return deed.split("+").flatMap((one, i) => {
    const text = i === 0 ? body : `stale ${body}`;
    if (one === "error") return [failed(text)];
    if (one === "stop") return [stopAnswer];
    if (one === "stream") {
      return [answer(200, text.slice(0, 1), STREAM), answer(0, "", STREAM | PING), answer(0, text.slice(1))];
    }
    if (one === "early") return [answer(103, "", STREAM), answer(200, text)];
    return [answer(one === "ok" ? 200 : Number(one), text)];
  });
}

/** Runs requests through a worker that reads and writes at a pace given by `steps`. */
function play(
  fenced: boolean,
  script: readonly string[],
  steps: readonly number[],
  cancels: ReadonlySet<number>,
): void {
  const inbox: string[] = [], frames: Uint8Array[] = [], sinks: Answer[] = [];
  let wire = new Uint8Array(0), sent = 0, left = false;
  const talk = new Talk(fenced, (kind) => inbox.push(kind));
  const next = () => {
    if (sent < script.length) sinks.push(talk.send(`r${sent++}`));
  };
  talk.onReady = next;
  let at = 0;
  const step = () => steps[at++ % steps.length]!;
  for (let turn = 0; turn < 20_000 && !left; turn++) {
    const choice = step();
    if (choice < 3 && frames.length === 0) {
      const got = inbox.shift();
      if (got === "question") frames.push(handshake);
      else if (got === "stop worker") left = true;
      else if (got?.startsWith("r")) frames.push(...framesOf(script[Number(got.slice(1))]!, got));
    } else if (choice < 6) {
      const frame = frames.shift();
      if (frame !== undefined) wire = joined([wire, frame]) as Uint8Array<ArrayBuffer>;
    } else if (wire.byteLength > 0) {
      const length = Math.min(wire.byteLength, 1 + step() * step());
      talk.conversation.data(wire.subarray(0, length));
      wire = wire.slice(length);
    } else if (cancels.has(sent - 1) && choice === 9) talk.conversation.cancel();
    if (talk.broken !== undefined) throw talk.broken;
    if (sent === script.length && sinks.every((sink, i) => sink.finals > 0 || cancels.has(i))) break;
  }
  expect(sinks.length).toBe(script.length);
  sinks.forEach((sink, i) => {
    expect([sink.late, sink.finals <= 1]).toEqual([0, true]);
    if (sink.finals === 0) return expect(cancels.has(i)).toBe(true);
    // One of its own answers, or its own error.
    if (sink.error === undefined) expect(sink.body.replace("stale ", "")).toBe(`r${i}`);
    else expect(sink.error.message.replace("stale ", "")).toContain(`error: r${i}`);
    expect(sink.body.includes("stale") && fenced && !script[i]!.startsWith("error")).toBe(false);
  });
}

const paces = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 20, maxLength: 60 })
  .filter((steps) => steps.some((s) => s < 3) && steps.some((s) => s > 2 && s < 6) && steps.some((s) => s > 5));
const cancelled = fc.array(fc.integer({ min: 0, max: 29 }), { maxLength: 6 }).map((list) => new Set(list));

test("no answer reaches another request, however workers answer, when all are fenced", () => {
  const script = fc.array(fc.constantFrom(...doubles), { minLength: 1, maxLength: 30, size: "max" });
  fc.assert(fc.property(script, paces, cancelled, (deedList, steps, cancels) => play(true, deedList, steps, cancels)));
});

test("no answer reaches another request, when second ones are errors, of status 5xx or wishes to stop", () => {
  const seasoned = fc.array(fc.constantFrom(...deeds), { minLength: 1, maxLength: 14, size: "max" }).map(
    (list) => [...Array<string>(16).fill("ok"), ...list],
  );
  fc.assert(
    fc.property(seasoned, paces, cancelled, (deedList, steps, cancels) => play(false, deedList, steps, cancels)),
  );
});

test("whatever a worker writes, nothing is thrown and a sink hears one end at most", () => {
  const piece = fc.oneof(
    fc.constantFrom(
      handshake,
      stopAnswer,
      failed("x"),
      answer(200, "a"),
      answer(0, "b", STREAM),
      answer(103, "", STREAM),
    ),
    fc.uint8Array({ maxLength: 20 }),
    fc.constantFrom("send", "cancel", "stop", "end" as const),
  );
  fc.assert(fc.property(fc.boolean(), fc.array(piece, { maxLength: 25, size: "max" }), (fenced, pieces) => {
    const talk = new Talk(fenced);
    talk.data(handshake);
    const sinks: Answer[] = [];
    for (const one of pieces) {
      if (one instanceof Uint8Array) talk.data(one);
      else if (one !== "send") talk.conversation[one]();
      else if (talk.conversation.idle) sinks.push(talk.send("r"));
    }
    for (const sink of sinks) expect([sink.late, sink.finals <= 1]).toEqual([0, true]);
    if (talk.broken !== undefined) expect(talk.broken.status).toBe(502);
  }));
});
