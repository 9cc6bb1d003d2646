/**
 * What an attacker or a broken client may send, byte by byte. Each row says what it sends and which statuses are right;
 * for all rows alike, no secret file, no PHP source and no forbidden script may show, and no hidden request may run.
 *
 * @module
 */
import { describe, expect, test } from "bun:test";
import { get, hidden, hostileSite, post, showsNothing } from "../support/hostile.ts";
import { RawClient, type RawResponse } from "../support/raw_http.ts";
import { hosts } from "../support/server.ts";
import { allowSlowTests } from "../support/wait.ts";

allowSlowTests(30_000);

interface Row {
  readonly name: string;
  readonly send: string | readonly string[];
  /** Statuses of the first response that are right; `close` when closing without a word is right too. */
  readonly status: readonly (number | "close")[];
  /** Whether the connection must not be used again; it closes then. */
  readonly closes?: boolean;
  /** Looks at the first response. */
  readonly also?: (response: RawResponse | undefined, all: readonly RawResponse[]) => void;
}

/** A second request hides in what one reading takes for a body: it must never run. */
const smuggling: readonly Row[] = [
  {
    name: "Content-Length and Transfer-Encoding",
    send: post("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", `0\r\n\r\n${hidden}`),
    status: [400],
    closes: true,
  },
  {
    name: "Transfer-Encoding and Content-Length",
    send: post(`Transfer-Encoding: chunked\r\nContent-Length: ${hidden.length + 5}\r\n`, `0\r\n\r\n${hidden}`),
    status: [400],
    closes: true,
  },
  {
    name: "two Content-Lengths that differ",
    send: post(`Content-Length: 0\r\nContent-Length: ${hidden.length}\r\n`, hidden),
    status: [400],
    closes: true,
  },
  {
    name: "the same, longer first",
    send: post(`Content-Length: ${hidden.length}\r\nContent-Length: 0\r\n`, hidden),
    status: [400],
    closes: true,
  },
  {
    name: "a list of Content-Lengths",
    send: post(`Content-Length: 0, ${hidden.length}\r\n`, hidden),
    status: [400],
    closes: true,
  },
  {
    name: "a space before the colon",
    send: post("Transfer-Encoding : chunked\r\n", `0\r\n\r\n${hidden}`),
    status: [400],
    closes: true,
  },
  {
    name: "Content-Length with a space before the colon",
    send: post(`Content-Length : ${hidden.length}\r\n`, hidden),
    status: [400],
    closes: true,
  },
  {
    name: "xchunked",
    send: post("Transfer-Encoding: xchunked\r\n", `0\r\n\r\n${hidden}`),
    status: [400, 501],
    closes: true,
  },
  {
    name: "chunked twice",
    send: post("Transfer-Encoding: chunked, chunked\r\n", `0\r\n\r\n${hidden}`),
    status: [400, 501],
    closes: true,
  },
  {
    name: "chunked is not last",
    send: post("Transfer-Encoding: chunked, identity\r\n", `0\r\n\r\n${hidden}`),
    status: [400, 501],
    closes: true,
  },
  {
    name: "two Transfer-Encodings",
    send: post("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked, x\r\n", `0\r\n\r\n${hidden}`),
    status: [400, 501],
    closes: true,
  },
  {
    name: "chunked behind a vertical tab",
    send: post("Transfer-Encoding: \x0bchunked\r\n", `0\r\n\r\n${hidden}`),
    status: [400, 501],
    closes: true,
  },
  {
    name: "chunked in quotes",
    send: post('Transfer-Encoding: "chunked"\r\n', `0\r\n\r\n${hidden}`),
    status: [400, 501],
    closes: true,
  },
  {
    name: "a folded header",
    send: post("X: y\r\n Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", hidden.replace("hidden", "next")),
    status: [400, 200],
  },
  {
    name: "a chunk size that is no number",
    send: post("Transfer-Encoding: chunked\r\n", `zz\r\n\r\n${hidden}`),
    status: [400, "close"],
    closes: true,
  },
  {
    name: "a chunk size with a sign",
    send: post("Transfer-Encoding: chunked\r\n", `+0\r\n\r\n${hidden}`),
    status: [400, "close"],
    closes: true,
  },
  {
    name: "a negative chunk size",
    send: post("Transfer-Encoding: chunked\r\n", `-1\r\n\r\n${hidden}`),
    status: [400, "close"],
    closes: true,
  },
  {
    name: "a chunk size in 0x",
    send: post("Transfer-Encoding: chunked\r\n", `0x0\r\n\r\n${hidden}`),
    status: [400, "close"],
    closes: true,
  },
  {
    name: "a chunk size past 2^64",
    send: post("Transfer-Encoding: chunked\r\n", `10000000000000000\r\nab\r\n0\r\n\r\n${hidden}`),
    status: [400, 413, "close"],
    closes: true,
  },
  {
    name: "a chunk size past 2^32",
    send: post("Transfer-Encoding: chunked\r\n", `100000000\r\nab\r\n0\r\n\r\n${hidden}`),
    // Waiting for the rest is right too.
    status: [400, 408, 413, "close"],
  },
  {
    name: "a chunk longer than its size",
    send: post("Transfer-Encoding: chunked\r\n", `1\r\nabcdef\r\n0\r\n\r\n${hidden}`),
    status: [400, "close"],
    closes: true,
  },
  {
    name: "a chunk without its line end",
    send: post("Transfer-Encoding: chunked\r\n", `3\r\nabc0\r\n\r\n${hidden}`),
    status: [400, "close"],
    closes: true,
  },
  {
    name: "an endless chunk extension",
    send: post("Transfer-Encoding: chunked\r\n", `1;${"x".repeat(200_000)}\r\na\r\n0\r\n\r\n`),
    status: [200, 400, 413, 431, "close"],
  },
  {
    name: "Content-Length with a sign",
    send: post(`Content-Length: +${hidden.length}\r\n`, hidden),
    status: [400],
    closes: true,
  },
  { name: "a negative Content-Length", send: post("Content-Length: -1\r\n", hidden), status: [400], closes: true },
  { name: "Content-Length in hex", send: post("Content-Length: 0x10\r\n", hidden), status: [400], closes: true },
  { name: "Content-Length with a tail", send: post("Content-Length: 0 0\r\n", hidden), status: [400], closes: true },
  {
    name: "Content-Length past 2^64",
    send: post(`Content-Length: 18446744073709551616\r\n`, hidden),
    status: [400, 413],
    closes: true,
  },
  { name: "an empty Content-Length", send: post("Content-Length: \r\n", hidden), status: [400], closes: true },
  {
    name: "chunked on HTTP/1.0",
    send: post("Transfer-Encoding: chunked\r\n", `0\r\n\r\n${hidden}`).replace("HTTP/1.1", "HTTP/1.0"),
    status: [200, 400, 501, 505],
    closes: true,
  },
];

const grammar: readonly Row[] = [
  { name: "no Host", send: "GET / HTTP/1.1\r\n\r\n", status: [400] },
  { name: "two Hosts", send: "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", status: [400] },
  { name: "a Host with a path", send: "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", status: [400] },
  { name: "a Host with a user", send: "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", status: [400] },
  { name: "no version", send: "GET /\r\n\r\n", status: [200, 400, 505, "close"] },
  { name: "version 3.7", send: "GET / HTTP/3.7\r\nHost: a\r\n\r\n", status: [400, 505, "close"] },
  { name: "a NUL in the target", send: "GET /a\0b HTTP/1.1\r\nHost: a\r\n\r\n", status: [400, 505, "close"] },
  { name: "a NUL in a header", send: "GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n", status: [400, "close"] },
  { name: "a bare CR in a header", send: "GET / HTTP/1.1\r\nHost: a\r\nX: a\rY: b\r\n\r\n", status: [400, "close"] },
  { name: "an empty header name", send: "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", status: [400, "close"] },
  {
    name: "a header line without a colon",
    send: "GET / HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n",
    status: [400, "close"],
  },
  { name: "a space in a header name", send: "GET / HTTP/1.1\r\nHost: a\r\nX Y: b\r\n\r\n", status: [400, "close"] },
  { name: "a space in the target", send: "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", status: [400, 505, "close"] },
  { name: "a target without a slash", send: "GET hello.txt HTTP/1.1\r\nHost: a\r\n\r\n", status: [400, "close"] },
  { name: "no TLS here", send: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", status: [400, "close"] },
  {
    name: "CONNECT",
    send: "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n",
    status: [400, 404, 405, 501, "close"],
  },
  {
    name: "TRACE shows no header back",
    send: get("/", "X-Private: p").replace("GET", "TRACE"),
    status: [400, 404, 405, 501, 200],
    also: (response) => expect(response?.text().startsWith("TRACE /")).toBe(false),
  },
  { name: "bytes that are no UTF-8", send: get("/%ff%fe"), status: [400, 404] },
  { name: "half an escape", send: get("/a%2"), status: [400, 404] },
  { name: "an escape that is none", send: get("/a%zz"), status: [400, 404] },
  { name: "a request line of 20 KB", send: get(`/${"a".repeat(20_000)}`), status: [404, 414, 431, 400] },
  {
    name: "a request line of 100 KB",
    send: get(`/${"a".repeat(100_000)}`),
    status: [400, 414, 431, "close"],
    closes: true,
  },
];

const sizes: readonly Row[] = [
  {
    name: "a header of 20 KB passes",
    send: get("/app.php", `Cookie: ${"c".repeat(20_000)}`),
    status: [200],
    also: (response) => expect(response?.text()).toContain("c".repeat(20_000)),
  },
  {
    name: "a header of 70 KB does not",
    send: get("/app.php", `Cookie: ${"c".repeat(70_000)}`),
    status: [431, 400],
    closes: true,
  },
  {
    name: "headers of 300 KB in all",
    send: get("/app.php", ...Array.from({ length: 300 }, (_, index) => `X-${index}: ${"v".repeat(1000)}`)),
    status: [431, 400],
    closes: true,
  },
  {
    name: "10,000 headers",
    send: get("/app.php", ...Array.from({ length: 10_000 }, (_, index) => `X${index}: v`)),
    status: [431, 400],
    closes: true,
  },
  {
    name: "a body announced too big is refused before it comes",
    send: post("Content-Length: 10485761\r\n"),
    status: [413],
    closes: true,
  },
  {
    name: "a body that grows too big",
    send: [
      post("Transfer-Encoding: chunked\r\n"),
      ...Array.from({ length: 12 }, () => `100000\r\n${"b".repeat(0x100000)}\r\n`),
      "0\r\n\r\n",
    ],
    status: [413, "close"],
    closes: true,
  },
  {
    name: "an unknown expectation",
    send: post("Content-Length: 0\r\nExpect: tea\r\nConnection: close\r\n"),
    status: [200, 417],
  },
];

for (const host of hosts()) {
  describe(`hostile bytes to ${host}`, () => {
    const server = hostileSite(host);

    async function check(row: Row): Promise<void> {
      const client = await RawClient.connect(server.port);
      try {
        const parts = typeof row.send === "string" ? [row.send] : row.send;
        // Not awaited: a server that refuses early need not read the rest.
        void client.send(...parts);
        const responses = await client.readAll(150);
        const first = responses[0];
        expect(row.status).toContain(first?.status ?? "close");
        responses.forEach(showsNothing);
        row.also?.(first, responses);
        if (row.closes) {
          expect(responses.length).toBeLessThanOrEqual(1);
          // Said, or done: a server may linger for the rest of a body that is on its way.
          expect(first?.header("connection") === "close" || await client.closes()).toBe(true);
        }
        expect(server.ran()).not.toContain("?hidden");
      } finally {
        client.leave();
      }
    }

    for (const [title, rows] of Object.entries({ smuggling, grammar, sizes })) {
      describe(title, () => {
        for (const row of rows) test(row.name, () => check(row));
      });
    }
  });
}
