import { afterEach, describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { CoreError } from "../../../core/error.ts";
import type { GoridgeOptions } from "../../../plugins/php/goridge/launch.ts";
import { allowSlowTests, pause, waitFor, within } from "../../support/wait.ts";
import { Answer, type Heard, joined, request, start } from "./support.ts";

allowSlowTests(30_000);

const running: Heard[] = [];

async function worker(options: Partial<GoridgeOptions> = {}, mode = ""): Promise<Heard> {
  const heard = await start(options, mode);
  running.push(heard);
  return heard;
}

afterEach(async () => {
  for (const heard of running.splice(0)) {
    heard.worker.kill();
    await heard.ends();
  }
});

function send(heard: Heard, target: string, onChunk?: (bytes: Uint8Array) => void): Answer {
  const answer = new Answer();
  answer.onChunk = onChunk;
  heard.worker.send(request(target), answer);
  return answer;
}

const bytes = (length: number) => Buffer.alloc(length, "0123456789abcdefghijklmnopqrstuvwxyz\xff\0");

describe("a worker", () => {
  test("is ready when it waits for a request, and again after each", async () => {
    const heard = await worker();
    expect(heard.log).toEqual(["ready"]);
    expect(heard.worker.pid > 1).toBe(true);
    for (let i = 0; i < 50; i++) expect((await heard.ask(request(`/id?${i}`))).body).toBe(String(i));
    expect(heard.ready).toBe(51);
    expect(heard.lines).toEqual([]);
  });

  test("outlives the time after which PHP gives up on a silent socket", async () => {
    const heard = await worker({ args: ["-d", "default_socket_timeout=1"], keepAwakeMs: 300 });
    // Nothing is to happen in this time.
    await pause(1500);
    expect((await heard.ask(request("/id?later"))).body).toBe("later");
    expect([heard.log, heard.lines]).toEqual([["ready", "ready"], []]);
  });

  test("gets the request as it is, and gives status and headers", async () => {
    const heard = await worker();
    const body = Buffer.from("a\0\xffb", "latin1");
    const answer = await heard.ask(request("/echo?x=1", { kind: "bytes", bytes: body }));
    expect(answer.head).toEqual({
      status: 201,
      reason: "",
      headers: [["X-A", "1"], ["X-A", "2"], ["X-Served", "1"]],
    });
    expect([...joined(answer.chunks)]).toEqual([...body]);
    const context = await heard.ask(request("/context?x=1", undefined, "X-B: 2", "DELETE"));
    expect(JSON.parse(context.body)).toMatchObject({ method: "DELETE", headers: { "X-B": ["2"] }, rawQuery: "x=1" });
    expect(context.header("X-Flags")).toBe("8");
  });

  test("gets what it is told by the protocol and by the options in its environment, and nothing else", async () => {
    const heard = await worker({ env: { APP_ENV: "test", RR_VERSION: "9" } });
    const env = JSON.parse((await heard.ask(request("/env"))).body) as Record<string, string>;
    expect(env).toMatchObject({ RR_MODE: "http", RR_RELAY: "pipes", RR_VERSION: "9", APP_ENV: "test" });
    expect(Object.keys(env).filter((name) => !/^(?:RR_|APP_ENV|PATH|WORKER_MODE|_|SHLVL|PWD)/.test(name))).toEqual([]);
  });

  test("may be sent protobuf", async () => {
    const heard = await worker({ codec: "proto" });
    const answer = await heard.ask(request("/x?a=1", { kind: "bytes", bytes: Buffer.from("body") }));
    expect(answer.header("X-Flags")).toBe("128");
    expect(answer.body).toContain("http://app.test/x?a=1");
    expect(answer.body.endsWith("body")).toBe(true);
  });

  test("is sent forms as a tree", async () => {
    const heard = await worker();
    const parts = [{ kind: "field", name: "a[]", value: "1" }] as const;
    const form = { kind: "form", type: "urlencoded", parts, raw: Buffer.from("a[]=1"), length: 5 } as const;
    const answer = await heard.ask(request("/context", form));
    expect(answer.header("X-Body")).toBe('{"a":["1"]}');
    expect(JSON.parse(answer.body).parsed).toBe(true);
  });

  test("carries bodies of 8 MB both ways, in memory and from a file", async () => {
    const heard = await worker();
    const body = bytes(8 << 20);
    const dir = mkdtempSync(join(tmpdir(), "goridge-"));
    try {
      const path = join(dir, "body");
      writeFileSync(path, body);
      for (const one of [{ kind: "bytes", bytes: body }, { kind: "file", path, length: body.byteLength }] as const) {
        const answer = await heard.ask(request("/echo", one));
        expect(answer.bytes).toBe(body.byteLength);
        expect(Buffer.compare(joined(answer.chunks), body)).toBe(0);
      }
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  test("stays ready when a request cannot be sent", async () => {
    const heard = await worker({ maxBody: 100 });
    const clash = [{ kind: "field", name: "a", value: "" }, { kind: "field", name: "a[b]", value: "" }] as const;
    const codes = ([
      { kind: "file", path: "/nowhere", length: 101 },
      { kind: "form", type: "urlencoded", parts: clash, raw: undefined, length: 9 },
    ] as const).map((body) => {
      try {
        heard.worker.send(request("/echo", body), new Answer());
      } catch (error) {
        return [(error as CoreError).code, (error as CoreError).status];
      }
      return [];
    });
    expect(codes).toEqual([["PHP_BODY_TOO_LARGE", 413], ["FORM_NAMES_CLASH", 400]]);
    const answer = new Answer();
    heard.worker.send(request("/echo", { kind: "file", path: "/nowhere", length: 100 }), answer);
    await answer.over;
    expect([answer.error!.code, answer.progress]).toEqual(["BODY_UNREADABLE", "unsent"]);
    await heard.readyAgain(2);
    expect((await heard.ask(request("/id?1"))).body).toBe("1");
  });

  test("has one request at a time", async () => {
    const heard = await worker();
    const answer = send(heard, "/sleep?us=1000");
    expect(() => send(heard, "/id?1")).toThrow("onReady");
    await answer.over;
    expect(answer.body).toBe("slept");
  });

  test("is told to stop, and ends by itself", async () => {
    const heard = await worker();
    heard.worker.stop();
    expect(await heard.ends()).toMatchObject({ code: 0, signal: null });
    expect(heard.log).toEqual(["ready", "exit"]);
    heard.worker.send(request("/id"), new Answer());
    heard.worker.cancel();
    heard.worker.stop();
    heard.worker.kill();
    expect(heard.log).toEqual(["ready", "exit"]);
  });

  test("can be stopped and killed before it is there", async () => {
    for (const call of ["stop", "kill"] as const) {
      const heard = await worker({}, "early");
      heard.worker[call]();
      const exit = await heard.ends();
      expect(call === "stop" ? exit.code : exit.signal).toBe(call === "stop" ? 0 : "SIGKILL");
      expect(heard.ready).toBe(0);
    }
  });
});

describe("a worker that cannot boot", () => {
  test("tells why", async () => {
    const heard = await worker({}, "die");
    expect(await heard.ends()).toMatchObject({ code: 7, lastWords: ["cannot boot"] });
    expect(heard.log).toEqual(["exit"]);
  });

  test("because there is no such program", async () => {
    const heard = await worker({ php: "/nowhere/php" }, "none");
    const exit = await heard.ends();
    expect(exit.code).not.toBe(0);
    expect(exit.lastWords.length > 0).toBe(true);
  });

  test("because there is no such script: what PHP prints is shown", async () => {
    const heard = await worker({ script: "/nowhere/worker.php" }, "none");
    await heard.ends();
    expect(heard.broken?.code).toBe("PHP_GORIDGE_DESYNC");
    expect(heard.broken?.message).toContain("Could not open input file: /nowhere/worker.php");
    expect(heard.lines).toContain("Could not open input file: /nowhere/worker.php");
    expect(heard.log).toEqual(["broken", "exit"]);
  });

  test("because it prints first", async () => {
    const heard = await worker({}, "babble");
    await waitFor(() => heard.broken, { what: "the worker to be found broken" });
    expect(heard.broken!.message).toContain(JSON.stringify("Deprecated: something old\nin two lines"));
    expect(heard.lines).toEqual(["Deprecated: something old", "in two lines"]);
    expect(heard.ready).toBe(0);
  });

  test("because another process answers", async () => {
    const heard = await worker({}, "impostor");
    await waitFor(() => heard.broken, { what: "the worker to be found broken" });
    expect(heard.broken!.code).toBe("PHP_GORIDGE_HANDSHAKE");
    expect(heard.broken!.message).toContain(String(heard.worker.pid));
  });

  test("but PHP's own warnings are no reason", async () => {
    const heard = await worker({}, "warn");
    await heard.becomesReady();
    expect(heard.lines.join()).toContain("Undefined variable");
    expect((await heard.ask(request("/id?1"))).body).toBe("1");
  });
});

describe("an answer", () => {
  test("may come behind early hints", async () => {
    const heard = await worker();
    const answer = await heard.ask(request("/early"));
    expect(answer.early).toEqual([{ status: 103, reason: "", headers: [["Link", "</a.css>; rel=preload"]] }]);
    expect([answer.head!.status, answer.body]).toEqual([200, "late"]);
  });

  test("may be an error: its text is for the log, and the worker stays", async () => {
    const heard = await worker({ fence: "always" });
    for (const _ of [1, 2]) {
      const answer = await heard.ask(request("/error"));
      expect([answer.error!.code, answer.error!.status, answer.progress]).toEqual(["PHP_WORKER_ERROR", 500, "touched"]);
      expect(answer.error!.message).toContain("it broke");
      expect(answer.stderr).toBe("it broke\nin two lines");
    }
    await heard.readyAgain(3);
    expect((await heard.ask(request("/id?1"))).body).toBe("1");
  });

  test("that cannot be read fails, and the worker stays", async () => {
    const heard = await worker();
    const heads: readonly (readonly [string, string])[] = [
      ["", "PHP_HEAD_MISSING"],
      ["nonsense", "PHP_HEAD_MALFORMED"],
      ['{"status":9,"headers":{}}', "PHP_STATUS_INVALID"],
      ['{"status":103,"headers":{}}', "PHP_STATUS_INVALID"],
      ['{"status":200,"headers":{"A":["b\\nc: d"]}}', "PHP_HEAD_MALFORMED"],
    ];
    let count = 1;
    for (const [head, code] of heads) {
      const answer = send(heard, `/head?head=${encodeURIComponent(Buffer.from(head).toString("base64"))}`);
      await answer.over;
      expect([answer.error!.code, answer.error!.status, answer.finals]).toEqual([code, 502, 1]);
      await heard.readyAgain(++count);
      expect(answer.late).toBe(0);
    }
    expect((await heard.ask(request("/id?1"))).body).toBe("1");
  });

  test("that the sink does not take fails the request alone", async () => {
    const heard = await worker();
    const answer = send(heard, "/big?n=1000000", () => {
      throw new Error("full");
    });
    await answer.over;
    expect(answer.error!.code).toBe("PHP_HANDLER_FAILED");
    await heard.readyAgain(2);
    expect([answer.finals, answer.late]).toEqual([1, 0]);
    expect((await heard.ask(request("/id?1"))).body).toBe("1");
  });

  test("given twice never reaches the next request", async () => {
    for (const [target, us] of [["/twice", 0], ["/twice", 3000], ["/error-after", 0]] as const) {
      const heard = await worker();
      // Past the first requests, which are watched more closely.
      for (let i = 0; i < 20; i++) await heard.ask(request("/id"));
      if (target === "/twice") {
        // Nothing tells this one from a good one, but by being caught at it once.
        await heard.ask(request(`${target}?us=${us}`));
        const next = await heard.ask(request("/id?wait&us=20000"));
        expect(next.finals).toBe(1);
        await waitFor(() => heard.lines.length > 0, { what: "the second answer to be noticed" });
        expect(heard.lines[0]).toContain("second answer");
      }
      for (let i = 0; i < 10; i++) {
        await heard.ask(request(`${target}?us=${us}`));
        expect((await heard.ask(request(`/id?after-${i}`))).body).toBe(`after-${i}`);
      }
    }
  });
});

describe("a stream", () => {
  test("comes piece by piece, slower than its client", async () => {
    const heard = await worker();
    const times: number[] = [];
    const answer = send(heard, "/stream?n=12&us=20000", () => times.push(performance.now()));
    await answer.over;
    expect(answer.body).toBe(`${"x".repeat(120)}end`);
    expect(answer.head!.headers).toEqual([["Content-Type", "text/plain"]]);
    expect(times.at(-1)! - times[0]! > 150).toBe(true);
    expect(times.length >= 10).toBe(true);
    await heard.readyAgain(2);
    // The answer to its last ping may still lie in the pipe.
    expect((await heard.ask(request("/id?1"))).body).toBe("1");
  });

  test("waits for a client that is slower", async () => {
    const heard = await worker();
    const total = 64 << 20;
    const answer = send(heard, `/stream?n=${total / 65_536}&size=65536`, () => {
      if (answer.bytes === answer.chunks[0]!.byteLength) heard.worker.pause();
    });
    await waitFor(() => answer.bytes > 0, { what: "the first piece" });
    let before = -1;
    await waitFor(async () => {
      const same = answer.bytes === before;
      before = answer.bytes;
      await pause(50);
      return same;
    }, { what: "the stream to stand" });
    expect(before < total / 4).toBe(true);
    heard.worker.resume();
    await within(20_000, "the rest", answer.over);
    expect(answer.bytes).toBe(total + 3);
  });

  test("given up 200 times leaves the worker, or a worker that asked to go", async () => {
    let heard = await worker(), replaced = 0;
    for (let i = 0; i < 200; i++) {
      const answer = new Answer(), ready = heard.ready;
      const begun = new Promise<void>((resolve) => answer.onChunk = () => resolve());
      heard.worker.send(request(`/stream?n=1000000&us=100&at=${i % 20 === 19 ? "die" : ""}`), answer);
      if (i % 3 > 0) await begun;
      heard.worker.cancel();
      await waitFor(() => heard.ready > ready || heard.exit !== undefined, { what: "the end of the stream", every: 1 });
      expect(answer.finals).toBe(0);
      if (heard.exit === undefined) continue;
      expect(heard.log.slice(-2)).toEqual(["stop asked", "exit"]);
      expect(heard.exit.code).toBe(255);
      replaced++;
      heard = await worker();
    }
    expect(replaced).toBe(10);
    expect((await heard.ask(request("/id?1"))).body).toBe("1");
  });

  test("that goes on although it was given up ends with its process", async () => {
    const heard = await worker({ stopGraceMs: 50 });
    const answer = send(heard, "/stream?n=1000000&us=1000&at=ignore");
    await waitFor(() => answer.bytes > 0, { what: "the first piece" });
    heard.worker.pause();
    heard.worker.cancel();
    expect((await heard.ends()).signal).toBe("SIGKILL");
    expect(heard.log).toEqual(["ready", "stop asked", "exit"]);
    expect(answer.finals).toBe(0);
  });
});

describe("a client that leaves", () => {
  test("before the answer: it is awaited and dropped", async () => {
    const heard = await worker();
    const answer = send(heard, "/sleep?us=20000");
    heard.worker.cancel();
    await heard.readyAgain(2);
    expect([answer.finals, answer.bytes, answer.head]).toEqual([0, 0, undefined]);
    expect((await heard.ask(request("/id?1"))).body).toBe("1");
  });

  test("while the body is read from its file: nothing is sent", async () => {
    const heard = await worker();
    const answer = new Answer();
    heard.worker.send(request("/exit", { kind: "file", path: process.execPath, length: 1000 }), answer);
    heard.worker.cancel();
    await heard.readyAgain(2);
    expect(answer.finals).toBe(0);
    expect((await heard.ask(request("/id?1"))).body).toBe("1");
  });
});

describe("a worker that ends", () => {
  test("with exit() in a request", async () => {
    const heard = await worker();
    const answer = send(heard, "/exit");
    expect(await heard.ends()).toMatchObject({ code: 3, signal: null });
    expect([answer.finals, answer.head]).toEqual([0, undefined]);
    expect(heard.log).toEqual(["ready", "exit"]);
  });

  test("in the middle of its answer", async () => {
    const heard = await worker();
    const answer = send(heard, "/half");
    expect(await heard.ends()).toMatchObject({ code: 4 });
    expect(answer.finals).toBe(answer.error === undefined ? 0 : 1);
    expect(heard.ready).toBe(1);
  });

  test("by a crash", async () => {
    const heard = await worker();
    send(heard, "/crash");
    expect(await heard.ends()).toMatchObject({ code: null, signal: "SIGSEGV" });
  });

  test("behind its answer: the answer is whole, even for a slow client", async () => {
    const heard = await worker();
    const answer = send(heard, "/exit-after?n=150000", () => heard.worker.pause());
    await heard.ends();
    expect([answer.finals, answer.error, answer.bytes]).toEqual([1, undefined, 150_000]);
  });

  test("while it was idle: the next request has not run", async () => {
    const heard = await worker();
    process.kill(heard.worker.pid, "SIGKILL");
    const answer = send(heard, "/id?1");
    await heard.ends();
    expect([answer.error?.code, answer.progress]).toEqual(["PHP_WORKER_LEFT", "unsent"]);
  });

  test("because it prints between its frames", async () => {
    const heard = await worker();
    const answer = send(heard, "/raw");
    await waitFor(() => heard.broken, { what: "the worker to be found broken" });
    expect(heard.broken!.message).toContain('found "var_dump in the middle\\n";');
    expect(heard.lines[0]).toBe("var_dump in the middle");
    expect([answer.finals, heard.ready]).toEqual([0, 1]);
  });
});

test("a worker that is killed says nothing more to the sink", async () => {
  const heard = await worker();
  const answer = send(heard, "/big?n=1000000", () => heard.worker.kill());
  const exit = await heard.ends();
  expect([exit.signal, answer.finals, answer.chunks.length]).toEqual(["SIGKILL", 0, 1]);
});

describe("a worker that asks to be stopped", () => {
  test("in place of an answer: the request has not run", async () => {
    for (const before of [0, 20]) {
      const heard = await worker();
      for (let i = 0; i < before; i++) await heard.ask(request("/id"));
      const answer = send(heard, "/stop-instead");
      await answer.over;
      expect([answer.error!.code, answer.error!.status, answer.progress]).toEqual(["PHP_WORKER_LEFT", 503, "unsent"]);
      expect((await heard.ends()).code).toBe(0);
      expect(heard.log.slice(-2)).toEqual(["stop asked", "exit"]);
    }
  });

  test("behind an answer: a request that it already has is answered", async () => {
    for (const before of [0, 20]) {
      const heard = await worker();
      for (let i = 0; i < before; i++) await heard.ask(request("/id"));
      expect((await heard.ask(request("/stop-after"))).body).toBe("last");
      const next = send(heard, "/id?next");
      await next.over;
      expect([next.body, next.error]).toEqual(["next", undefined]);
      expect(heard.stopAsked).toBe(1);
      heard.worker.stop();
      expect((await heard.ends()).code).toBe(0);
    }
  });

  test("and leaves with a request that it has not read: that one has not run", async () => {
    for (const before of [0, 20]) {
      const heard = await worker();
      for (let i = 0; i < before; i++) await heard.ask(request("/id"));
      await heard.ask(request("/stop-after-and-leave"));
      const next = send(heard, "/id?next");
      await heard.ends();
      expect([next.error?.code, next.progress, heard.stopAsked]).toEqual(["PHP_WORKER_LEFT", "unsent", 1]);
    }
  });
});
