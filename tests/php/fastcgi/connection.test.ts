import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { CoreError } from "../../../core/error.ts";
import { Connection } from "../../../plugins/php/fastcgi/connection.ts";
import { encodeParams } from "../../../plugins/php/fastcgi/params.ts";
import type { FcgiRequest } from "../../../plugins/php/fastcgi/request.ts";
import { Answer, cut, end, FakeSocket, join, record, settle, text } from "./support.ts";

interface Setup {
  readonly socket: FakeSocket;
  readonly connection: Connection;
  /** Calls of the owner. */
  readonly down: { readonly code: string; readonly running: boolean; readonly destroyed: boolean }[];
}

function setup(): Setup {
  const socket = new FakeSocket();
  const down: Setup["down"] = [];
  const connection = new Connection(socket, {
    onDown: (error, running) => void down.push({ code: error.code, running, destroyed: socket.destroyed }),
  });
  return { socket, connection, down };
}

const params = [encodeParams([["A", "b"]])];

function send(connection: Connection, request: FcgiRequest = { params }): Answer {
  const answer = new Answer();
  connection.send(request, answer);
  return answer;
}

/** A connection that has answered one request. */
function used(): Setup {
  const made = setup();
  send(made.connection);
  made.socket.answer("");
  return made;
}

const begin = (id: number) => [1, 1, 0, id, 0, 8, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0];

test("a request without a body is one write of these bytes", () => {
  const { socket, connection } = setup();
  send(connection);
  expect(socket.written.map((bytes) => [...bytes])).toEqual([[
    ...begin(1),
    ...[1, 4, 0, 1, 0, 4, 0, 0, 1, 1, 65, 98],
    ...[1, 4, 0, 1, 0, 0, 0, 0],
    ...[1, 5, 0, 1, 0, 0, 0, 0],
  ]]);
});

test("a body in memory goes in the same write, with its length as a parameter", () => {
  const { socket, connection } = setup();
  send(connection, { params, body: text("hey") });
  expect(socket.written.map((bytes) => [...bytes])).toEqual([[
    ...begin(1),
    ...[1, 4, 0, 1, 0, 21, 0, 0, 1, 1, 65, 98, 14, 1, ...text("CONTENT_LENGTH3")],
    ...[1, 4, 0, 1, 0, 0, 0, 0],
    ...[1, 5, 0, 1, 0, 3, 0, 0, ...text("hey")],
    ...[1, 5, 0, 1, 0, 0, 0, 0],
  ]]);
  const empty = setup();
  send(empty.connection, { params: [], body: new Uint8Array(0) });
  expect([...empty.socket.bytes.subarray(16)]).toEqual([
    ...[1, 4, 0, 1, 0, 17, 0, 0, 14, 1, ...text("CONTENT_LENGTH0")],
    ...[1, 4, 0, 1, 0, 0, 0, 0],
    ...[1, 5, 0, 1, 0, 0, 0, 0],
  ]);
});

test("a response cut anywhere is whole, and the connection goes on with the next id", () => {
  const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 10 });
  fc.assert(fc.property(fc.string(), fc.string(), cuts, (body, log, places) => {
    const { socket, connection, down } = setup();
    for (let id = 1; id <= 3; id++) {
      const answer = send(connection);
      const parts = [record(6, id, text(body), 5), record(7, id, text(log)), record(6, id), end(id, 258)];
      for (const chunk of cut(join(parts), places)) socket.emit("data", chunk);
      expect([answer.stdout, answer.stderr, answer.appStatus, answer.finals]).toEqual([body, log, 258, 1]);
      expect(connection.state).toBe("idle");
    }
    expect(socket.lastId).toBe(3);
    expect(down).toEqual([]);
  }));
});

test("the next request may be sent from onEnd", () => {
  const { socket, connection } = setup();
  const first = new Answer();
  const second = new Answer();
  first.onEnd = () => connection.send({ params }, second);
  connection.send({ params }, first);
  socket.answer("one");
  socket.answer("two");
  expect(second.stdout).toBe("two");
});

test("padding behind the last record belongs to it, even when it comes later", () => {
  const { socket, connection, down } = setup();
  const answer = send(connection);
  const last = record(3, 1, new Uint8Array(8), 4);
  socket.emit("data", last.subarray(0, 16));
  expect(answer.finals).toBe(1);
  expect(connection.state).toBe("idle");
  socket.emit("data", last.subarray(16));
  expect(down).toEqual([]);
  const next = send(connection);
  socket.answer("ok");
  expect(next.stdout).toBe("ok");
});

const lost = [
  ["end of file", (socket: FakeSocket) => socket.emit("end"), "PHP_CHILD_DIED", false],
  ["a reset", (socket: FakeSocket) => socket.emit("error", new Error("ECONNRESET")), "PHP_CHILD_DIED", false],
  ["a close", (socket: FakeSocket) => socket.emit("close"), "PHP_CHILD_DIED", false],
  ["no FastCGI", (socket: FakeSocket) => socket.emit("data", text("HTTP/1.1 200 OK")), "PHP_PROTOCOL", true],
  ["a wrong id", (socket: FakeSocket) => socket.emit("data", record(6, 9, text("x"))), "PHP_PROTOCOL", true],
  ["a wrong type", (socket: FakeSocket) => socket.emit("data", record(10, 2, text("x"))), "PHP_PROTOCOL", true],
  ["a short end", (socket: FakeSocket) => socket.emit("data", record(3, 2, text("x"))), "PHP_PROTOCOL", true],
  ["overload", (socket: FakeSocket) => socket.emit("data", end(2, 0, 2)), "PHP_OVERLOADED", true],
  ["a refusal", (socket: FakeSocket) => socket.emit("data", end(2, 0, 3)), "PHP_REFUSED", true],
] as const;

test("whatever ends a response early fails the request once, and the owner hears it before the socket closes", () => {
  for (const [what, happens, code, running] of lost) {
    const { socket, connection, down } = used();
    const answer = send(connection);
    happens(socket);
    for (const again of ["end", "close"]) socket.emit(again);
    expect([what, answer.error?.code, answer.finals]).toEqual([what, code, 1]);
    expect(answer.error?.status).toBe(code === "PHP_OVERLOADED" ? 503 : 502);
    expect(down).toEqual([{ code, running, destroyed: false }]);
    expect([connection.state, socket.destroyed]).toEqual(["closed", true]);
  }
});

test("how far a request got is told", () => {
  const fresh = setup();
  const first = send(fresh.connection);
  fresh.socket.emit("end");
  expect(first.progress).toBe("touched");

  const reused = used();
  const second = send(reused.connection);
  reused.socket.emit("end");
  expect(second.progress).toBe("untouched");

  const begun = used();
  const third = send(begun.connection);
  begun.socket.emit("data", record(7, 2, text("log")));
  expect(begun.connection.answered).toBe(true);
  begun.socket.emit("end");
  expect(third.progress).toBe("touched");

  const dead = used();
  dead.socket.emit("end");
  const fourth = send(dead.connection);
  expect([fourth.error?.code, fourth.progress]).toEqual(["PHP_CHILD_DIED", "unsent"]);
});

test("an idle connection is watched", () => {
  for (const [what, happens] of lost) {
    const { socket, connection, down } = used();
    happens(socket);
    expect([what, connection.state, down.length, down[0]?.running]).toEqual([what, "closed", 1, false]);
  }
  const { socket, connection } = used();
  socket.emit("data", new Uint8Array([1]));
  expect(connection.state).toBe("closed");
});

test("bytes behind the end spoil the connection, not the response", () => {
  for (const extra of [[1], [1, 6, 0, 1, 0, 0, 0, 0], [...record(6, 1, text("late"))]]) {
    const { socket, connection, down } = setup();
    const answer = send(connection);
    socket.emit("data", join([record(6, 1, text("ok")), end(1), new Uint8Array(extra)]));
    expect([answer.stdout, answer.appStatus, answer.finals]).toEqual(["ok", 0, 1]);
    expect(connection.state).toBe("closed");
    expect(down.map((call) => call.running)).toEqual([false]);
  }
});

test("what cannot be sent leaves the connection as it was", () => {
  const { socket, connection } = setup();
  const large = send(connection, { params: [encodeParams([["A", "x".repeat(70_000)]])] });
  expect([large.error?.code, large.error?.status, large.progress]).toEqual(["PHP_PARAMS_TOO_LARGE", 431, "unsent"]);
  for (const length of [-1, NaN, 1.5]) {
    const unknown = send(connection, { params, body: { length, stream: new Blob([]).stream() } });
    expect([unknown.error?.code, unknown.error?.status]).toEqual(["PHP_LENGTH_REQUIRED", 411]);
  }
  expect(socket.written).toEqual([]);
  const one = send(connection);
  const two = send(connection);
  expect([two.error?.code, two.progress]).toEqual(["PHP_CONNECTION_BUSY", "unsent"]);
  socket.answer("ok");
  expect(one.stdout).toBe("ok");
});

test("a handler that throws fails its own request", () => {
  const errors = [new CoreError("PHP_HEAD_MALFORMED", "No head", { status: 502 }), new Error("no code")];
  for (const [error, code] of [[errors[0], "PHP_HEAD_MALFORMED"], [errors[1], "PHP_HANDLER_FAILED"]] as const) {
    const { socket, connection, down } = setup();
    const answer = new Answer();
    answer.onChunk = () => {
      throw error;
    };
    connection.send({ params }, answer);
    socket.answer("x");
    expect([answer.error?.code, answer.finals, connection.state]).toEqual([code, 1, "closed"]);
    expect(down.map((call) => call.running)).toEqual([true]);
  }
});

test("destroy is silent for the owner, and for the handler unless there is an error", () => {
  for (const error of [undefined, new CoreError("TEST", "Gone")]) {
    const { socket, connection, down } = setup();
    const answer = send(connection);
    connection.destroy(error);
    connection.destroy(error);
    socket.emit("close");
    expect([answer.finals, answer.error, down.length, socket.destroyed]).toEqual([error ? 1 : 0, error, 0, true]);
  }
});

test("a handler may destroy the connection between two records of a chunk", () => {
  const { socket, connection } = setup();
  const answer = new Answer();
  answer.onChunk = () => connection.destroy();
  connection.send({ params }, answer);
  socket.emit("data", join([record(6, 1, text("a")), record(6, 1, text("b")), end(1), text("garbage")]));
  expect([answer.stdout, answer.finals]).toEqual(["a", 0]);
});

test("reading pauses, and goes on by itself when the response is over", () => {
  const { socket, connection } = setup();
  const answer = send(connection);
  connection.pause();
  expect(socket.paused).toBe(true);
  connection.resume();
  expect(socket.paused).toBe(false);
  answer.onChunk = () => connection.pause();
  socket.answer("x");
  expect([answer.finals, socket.paused]).toEqual([1, false]);
  connection.pause();
  expect(socket.paused).toBe(false);
});

/** A body whose pieces the test hands out. */
function source(): {
  stream: ReadableStream<Uint8Array>;
  push(n: number): void;
  end(): void;
  fail(e: unknown): void;
  cancelled: boolean;
} {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  const made = {
    stream: new ReadableStream<Uint8Array>({
      start: (given) => void (controller = given),
      cancel: () => void (made.cancelled = true),
    }, { highWaterMark: 0 }),
    push: (length: number) => controller.enqueue(new Uint8Array(length).fill(7)),
    end: () => controller.close(),
    fail: (error: unknown) => controller.error(error),
    cancelled: false,
  };
  return made;
}

/** Content of the STDIN records, and whether the empty one has come. */
function stdin(socket: FakeSocket): { length: number; over: boolean } {
  let length = 0;
  let over = false;
  for (let bytes = socket.bytes, at = 0; at < bytes.length;) {
    const content = bytes[at + 4]! << 8 | bytes[at + 5]!;
    if (bytes[at + 1] === 5) {
      length += content;
      expect(over).toBe(false);
      over = content === 0;
    }
    at += 8 + content;
  }
  return { length, over };
}

test("a streamed body waits for the socket to drain", async () => {
  const { socket, connection } = setup();
  const body = source();
  socket.flowing = false;
  send(connection, { params, body: { length: 200_000, stream: body.stream } });
  body.push(200_000);
  await settle();
  expect(stdin(socket)).toEqual({ length: 0, over: false });
  socket.emit("drain");
  await settle();
  expect(stdin(socket)).toEqual({ length: 65_528, over: false });
  socket.flowing = true;
  socket.emit("drain");
  await settle();
  expect(stdin(socket)).toEqual({ length: 200_000, over: true });
});

test("a body that ends short, goes on, or breaks fails the request", async () => {
  const given = new CoreError("BODY_TIMEOUT", "No byte for 30 s", { status: 408 });
  const cases = [
    ["PHP_BODY_SHORT", 400, (body: ReturnType<typeof source>) => (body.push(5), body.end())],
    ["PHP_BODY_LONG", 400, (body: ReturnType<typeof source>) => body.push(11)],
    ["PHP_BODY_LONG", 400, (body: ReturnType<typeof source>) => (body.push(10), body.push(1))],
    ["PHP_BODY_FAILED", 400, (body: ReturnType<typeof source>) => body.fail(new Error("reset"))],
    ["BODY_TIMEOUT", 408, (body: ReturnType<typeof source>) => (body.push(5), body.fail(given))],
  ] as const;
  for (const [code, status, act] of cases) {
    const { socket, connection, down } = setup();
    const body = source();
    const answer = send(connection, { params, body: { length: 10, stream: body.stream } });
    act(body);
    await answer.over;
    expect([answer.error?.code, answer.error?.status]).toEqual([code, status]);
    expect(down).toEqual([{ code, running: true, destroyed: false }]);
    expect(stdin(socket).length <= 10).toBe(true);
    expect(socket.destroyed).toBe(true);
  }
});

test("a stream that cannot be read fails with a code", async () => {
  const { connection } = setup();
  const body = source();
  body.stream.getReader();
  const answer = send(connection, { params, body: { length: 10, stream: body.stream } });
  await answer.over;
  expect(answer.error?.code).toBe("PHP_BODY_FAILED");
});

test("an answer before the whole body was sent is good, stops the body and spends the connection", async () => {
  const { socket, connection, down } = setup();
  const body = source();
  const answer = send(connection, { params, body: { length: 10, stream: body.stream } });
  body.push(5);
  await settle();
  socket.answer("early");
  await settle();
  expect([answer.stdout, answer.appStatus, answer.finals]).toEqual(["early", 0, 1]);
  expect(down).toEqual([{ code: "PHP_BODY_UNREAD", running: false, destroyed: false }]);
  expect([body.cancelled, socket.destroyed]).toEqual([true, true]);
});

test("a byte too many that comes after the answer harms no later request", async () => {
  const { socket, connection, down } = setup();
  const body = source();
  const first = send(connection, { params, body: { length: 5, stream: body.stream } });
  body.push(5);
  await settle();
  expect(stdin(socket)).toEqual({ length: 5, over: true });
  socket.answer("one");
  const second = send(connection);
  try {
    body.push(1);
  } catch {
    // the stream was cancelled, which is as good
  }
  await settle();
  socket.answer("two");
  expect([first.stdout, second.stdout, down]).toEqual(["one", "two", []]);
});

test("losing the connection cancels the body", async () => {
  const { socket, connection } = setup();
  const body = source();
  socket.flowing = false;
  const answer = send(connection, { params, body: { length: 200_000, stream: body.stream } });
  body.push(100_000);
  await settle();
  socket.emit("end");
  await settle();
  expect([answer.error?.code, answer.finals, body.cancelled]).toEqual(["PHP_CHILD_DIED", 1, true]);
});

test("a body of declared length 0 sends the end of STDIN at once", async () => {
  const { socket, connection } = setup();
  const body = source();
  const answer = send(connection, { params, body: { length: 0, stream: body.stream } });
  expect(stdin(socket)).toEqual({ length: 0, over: true });
  body.end();
  await settle();
  socket.answer("ok");
  expect(answer.stdout).toBe("ok");
});

test("random bytes end in one answer or one error with a code, and never in two", () => {
  const valid = fc.constantFrom(
    record(6, 1, text("x")),
    record(7, 1, text("y")),
    record(6, 1),
    end(1),
    record(3, 1),
    record(6, 2),
  );
  const chunk = fc.oneof(
    valid,
    fc.uint8Array({ minLength: 1, maxLength: 12 }),
    valid.map((bytes) => bytes.subarray(0, 5)),
  );
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 12 }), fc.boolean(), (chunks, inOne) => {
      const { socket, connection, down } = setup();
      const answer = send(connection);
      for (const bytes of inOne ? [join(chunks)] : chunks) socket.emit("data", bytes);
      socket.emit("end");
      expect(answer.finals).toBe(1);
      expect(down.length).toBe(1);
      expect(connection.state).toBe("closed");
      expect(answer.error === undefined || answer.error instanceof CoreError).toBe(true);
    }),
    { numRuns: 1000 },
  );
});
