import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Host, startWorker } from "./host.ts";

describe("FrankenPHP runtime: the response", () => {
  let worker: Host;
  beforeAll(async () => {
    worker = await startWorker("routes.php");
  });
  afterAll(async () => {
    expect(await worker.stop()).toEqual({ code: 0, stderr: "" });
  });

  test("tells who it is in its hello", async () => {
    const hello = await worker.booted;
    expect(hello).toContain('s:1:"v";i:1;');
    expect(hello).toContain('s:5:"token";s:32:"0123456789abcdef0123456789abcdef";');
    expect(hello).toContain(`s:3:"pid";i:${worker.pid};`);
    expect(hello).toContain('s:4:"sapi";s:8:"cgi-fcgi";');
  });

  test("comes in one frame, with PHP's default type, and readiness after it", async () => {
    const reply = await worker.ask();
    expect(reply.body).toBe("hello 1");
    expect(reply.status).toBe(200);
    expect(reply.headers).toEqual(["Content-type: text/html; charset=UTF-8"]);
    expect(reply.frames.map(({ flags }) => flags)).toEqual([1]);
    await worker.idle();
  });

  test("has the status, headers and cookies of its own request only", async () => {
    for (const status of [201, 404, 500, 418, 200]) {
      const reply = await worker.ask({ path: "/status", query: `s=${status}` });
      expect(reply.status).toBe(status);
      expect(reply.headers).toEqual([
        "X-One: 1",
        "X-Many: a",
        "X-Many: b",
        "Set-Cookie: c=v%20w; path=/x; HttpOnly",
        "Content-type: text/html; charset=UTF-8",
      ]);
      const next = await worker.ask();
      expect([next.status, next.headers.length]).toEqual([200, 1]);
    }
  });

  test("takes its status from a status line, a Status header or a Location", async () => {
    expect((await worker.ask({ path: "/status-line" })).status).toBe(404);
    expect((await worker.ask({ path: "/status", query: "s=203" })).status).toBe(203);
    const later = await worker.ask({ path: "/status-header" });
    expect([later.status, later.headers]).toEqual([503, ["Content-type: text/html; charset=UTF-8"]]);
    const there = await worker.ask({ path: "/redirect" });
    expect([there.status, there.headers[0]]).toEqual([302, "Location: /there"]);
    expect((await worker.ask()).status).toBe(200);
  });

  test("has the type the script gave it, or none", async () => {
    expect((await worker.ask({ path: "/type" })).headers).toEqual(["Content-Type: application/json"]);
    const none = await worker.ask({ path: "/no-type" });
    expect([none.status, none.headers]).toEqual([204, []]);
    expect((await worker.ask()).headers).toEqual(["Content-type: text/html; charset=UTF-8"]);
  });

  test("lets header_register_callback() add headers", async () => {
    expect((await worker.ask({ path: "/head-callback" })).headers[0]).toBe("X-Late: yes");
    expect((await worker.ask()).headers.length).toBe(1);
  });

  test("flushes the buffers that the script left open", async () => {
    expect((await worker.ask({ path: "/buffers" })).body).toBe("0inNER2");
    expect((await worker.ask({ path: "/buffers" })).body).toBe("0inNER2");
  });

  test("lets the script drop all of its buffers, in the usual loops", async () => {
    const { body } = await worker.ask({ path: "/drop-buffers" });
    expect(body.replaceAll(/\s+/g, "")).toBe("seenarray(0=>false,1=>false,2=>false,)");
  });

  for (const path of ["/events", "/events-ob"]) {
    test(`streams event by event: ${path}`, async () => {
      const { frames, body } = await worker.ask({ path });
      const events = frames.filter(({ payload }) => payload.toString().includes("data: "));
      expect(events.length).toBe(path === "/events" ? 4 : 3);
      for (let i = 1; i < events.length; i++) expect(events[i]!.at - events[i - 1]!.at).toBeGreaterThan(30);
      expect(events.at(-1)!.flags).toBe(0);
      expect(body.includes("sent true")).toBe(path === "/events");
    });
  }

  test("is begun by flush() when there is something to send", async () => {
    const reply = await worker.ask({ path: "/flush-early" });
    expect(reply.headers[0]).toBe("X-One: before any output");
    expect(reply.body).toBe("0 free sent");
  });

  test("sends every write with ob_implicit_flush(), in that request", async () => {
    const { frames, body } = await worker.ask({ path: "/implicit" });
    expect(body).toBe("ab");
    expect(frames.length).toBe(3);
    expect((await worker.ask()).frames.length).toBe(1);
  });

  test("goes out in pieces when it is large, in flat memory", async () => {
    const { body, frames } = await worker.ask({ path: "/large" });
    expect(body.length).toBe(16 * 1024 * 1024 + 3_000_000);
    for (let i = 0; i < 1024; i += 97) expect(body[i * 16384]).toBe(String.fromCharCode(65 + i % 26));
    expect(body.at(-1)).toBe("z");
    expect(frames.length).toBeGreaterThan(200);
    expect(Number(worker.logs.at(-1)!.slice(2))).toBeLessThan(12_000_000);
  });

  test("ends early with finish_request, while the worker stays busy", async () => {
    const reply = await worker.ask({ path: "/finish" });
    const ended = performance.now();
    expect(reply.body).toBe("before");
    expect(reply.frames.at(-1)!.flags).toBe(1);
    await worker.idle();
    expect(performance.now() - ended).toBeGreaterThan(100);
    expect(worker.logs.at(-1)!.replaceAll(/\s+/g, "")).toBe("1finishedarray(0=>true,1=>false,)");
    expect((await worker.ask()).headers.length).toBe(1);
  });

  test("is preceded by early hints, with the links", async () => {
    const { early, headers, body } = await worker.ask({ path: "/early" });
    expect(early).toEqual([
      "Status: 103\r\nLink: </a.css>; rel=preload; as=style\r\nLink: </b.js>; rel=preload\r\n\r\n",
    ]);
    expect(headers).toEqual(["X-Other: 1", "Content-type: text/html; charset=UTF-8"]);
    expect(body).toBe("sent 1");
  });

  test("sends its head ahead with headers_send()", async () => {
    const { status, frames, body } = await worker.ask({ path: "/send-head" });
    expect([status, body, frames.length]).toEqual([202, "body", 2]);
    expect(frames[1]!.at - frames[0]!.at).toBeGreaterThan(30);
  });

  test("is no longer made for a client that has left", async () => {
    let gone = false;
    worker.onFrame(({ payload }) => {
      if (!gone && payload.toString().includes("tick")) {
        gone = true;
        worker.gone();
      }
    });
    const { frames } = await worker.ask({ path: "/until-gone" });
    expect(gone).toBe(true);
    expect(frames.length).toBeLessThan(20);
    await worker.idle();
    const [, count, status] = /stopped by (\d+), status (\d)/.exec(worker.logs.at(-1)!)!;
    expect(Number(count)).toBeLessThan(20);
    expect(status).toBe("1");
    expect((await worker.ask()).body).toContain("hello");
  });

  test("shows headers by their usual names", async () => {
    const asked = await worker.ask({
      path: "/headers",
      headers: { "X-Some-Thing": "1", host: "a", "content-type": "text/x", "content-length": "0" },
    });
    expect(JSON.parse(asked.body)).toEqual([
      { "X-Some-Thing": "1", Host: "a", "Content-Type": "text/x", "Content-Length": "0" },
      true,
    ]);
    const answered = await worker.ask({ path: "/response-headers" });
    expect(JSON.parse(answered.body)).toEqual([{ "X-A": "1", "X-B": "two" }, { "X-A": "1", "X-B": "two" }]);
  });

  test("logs by level, with a context", async () => {
    const before = worker.logs.length;
    const { body } = await worker.ask({ path: "/log" });
    expect(worker.logs.slice(before)).toEqual([
      "1 plain",
      '0 débug\0{"a":1,"b":"\ufffd"}',
      "2 warned",
      '3 wrong\0{"why":["x"]}',
    ]);
    expect(body).toContain("no Mercure hub");
  });
});

describe("FrankenPHP runtime: output_buffering", () => {
  test("is a buffer of each request's, which flush() leaves alone", async () => {
    const worker = await startWorker("routes.php", { ini: { output_buffering: "4096" } });
    for (let i = 0; i < 2; i++) {
      const reply = await worker.ask({ path: "/flush-early" });
      expect(reply.headers[0]).toBe("X-One: before any output");
      expect(reply.body).toBe("1 free free");
      expect(reply.frames.length).toBe(1);
    }
    expect((await worker.ask({ path: "/buffers" })).body).toBe("1inNER3");
    expect(await worker.stop()).toEqual({ code: 0, stderr: "" });
  });
});
