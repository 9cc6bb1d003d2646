import { describe, expect, test } from "bun:test";
import { createServer } from "node:net";
import process from "node:process";
import { parseOptions } from "../../bench/http/options.ts";
import { parseResponse, probe } from "../../bench/support/probe.ts";
import { executable, listeners, memory, stat, tree } from "../../bench/support/procfs.ts";
import { parseWrk } from "../../bench/http/wrk.ts";

describe("parseWrk", () => {
  const output = (run: string, bins: string) =>
    `Running 1s test\n  Latency Distribution\n\nHISTOGRAM\nrun ${run}\nerrors 0 0 0 0 3\n${bins}END\n`;

  test("reads the histogram without the samples wrk made up", () => {
    // 10 requests in 1000 us on one connection: a pace of 100 us, so the 300 us sample has a shadow at 200.
    const result = parseWrk(output("1000 10 500", "50 9\n200 1\n300 1\n"), 1);
    expect([...result.histogram]).toEqual([[50, 9], [300, 1]]);
    expect(result.requests).toBe(10);
    expect(result.seconds).toBe(0.001);
    expect(result.errors.status).toBe(3);
  });

  test("refuses a histogram that does not add up", () => {
    expect(() => parseWrk(output("1000 10 500", "50 9\n"), 1)).toThrow("9 samples, but wrk finished 10 requests");
  });

  test("refuses output without a histogram", () => {
    expect(() => parseWrk("unable to connect", 1)).toThrow("no histogram");
  });
});

describe("parseResponse", () => {
  const parse = (text: string, closed = false) => parseResponse(Buffer.from(text), closed);

  test("knows where a response with a length ends", () => {
    const text = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    expect(parse(text.slice(0, -1))).toBe(undefined);
    expect(parse(text)?.body.toString()).toBe("hello");
    expect(parse(`${text}HTTP`)?.length).toBe(text.length);
  });

  test("puts chunks together, and waits for the last one", () => {
    const text = "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n";
    for (let end = 0; end < text.length; end++) expect(parse(text.slice(0, end))).toBe(undefined);
    expect(parse(text)).toEqual({ status: 404, length: text.length, body: Buffer.from("hello") });
  });

  test("ends with the connection when nothing else tells", () => {
    const text = "HTTP/1.1 200 OK\r\n\r\nhello";
    expect(parse(text)).toBe(undefined);
    expect(parse(text, true)?.body.toString()).toBe("hello");
  });
});

describe("the process table", () => {
  test("names the holder of a listener, and an answer is counted to the byte", async () => {
    const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.write(answer));
    });
    const port = await new Promise<number>((resolve) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address();
        resolve(typeof address === "object" && address !== null ? address.port : 0);
      });
    });
    expect(listeners(port)).toEqual([process.pid]);
    const seen = await probe({ port, path: "/" });
    expect([seen.status, seen.wireBytes, seen.body.toString()]).toEqual([200, answer.length, "ok"]);
    await new Promise((resolve) => server.close(resolve));
    expect(listeners(port)).toEqual([]);
  });

  test("knows this process", () => {
    expect(executable(process.pid)).toBe(process.execPath);
    expect(stat(process.pid)?.ppid).toBe(process.ppid);
    expect(tree(process.ppid)).toContain(process.pid);
    const { processes, rss, pss } = memory([process.pid]);
    expect(processes).toBe(1);
    expect(rss).toBeGreaterThanOrEqual(pss);
    expect(pss).toBeGreaterThan(1e6);
  });

  test("says nothing of a process that is gone", () => {
    expect(executable(2 ** 22 + 1)).toBe(undefined);
    expect(stat(2 ** 22 + 1)).toBe(undefined);
  });
});

describe("parseOptions", () => {
  test("names what it knows when it is given something else", () => {
    expect(() => parseOptions(["--arms", "apache"])).toThrow('Unknown arm "apache", expected one of nginx,');
    expect(() => parseOptions(["--rounds", "1.5"])).toThrow('--rounds is "1.5", expected a whole number of at least 1');
    expect(() => parseOptions(["--pages", "wordpress"])).toThrow("--wordpress DIR");
  });

  test("the first arm is the control", () => {
    const o = parseOptions(["--arms", "nginx,fairlead-deno", "--clients", "1,100"]);
    expect(o !== "help" && o.arms.map((arm) => arm.name)).toEqual(["nginx", "fairlead-deno"]);
    expect(o !== "help" && o.clients).toEqual([1, 100]);
  });
});
