import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { CoreError } from "../../../core/error.ts";
import { type HeadOptions, HeadParser, type ResponseHead } from "../../../plugins/php/fastcgi/head.ts";
import { cut, join } from "./support.ts";

const bytes = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
const textOf = (part: Uint8Array) => Array.from(part, (byte) => String.fromCharCode(byte)).join("");

type Parsed = { head: ResponseHead; body: string } | string | undefined;

/** The head and the start of the body; a code; or undefined when more is needed. */
function parse(chunks: readonly Uint8Array[], options: HeadOptions = {}): Parsed {
  const parser = new HeadParser(options);
  let body: Uint8Array | undefined;
  try {
    for (const [i, chunk] of chunks.entries()) {
      body = parser.push(chunk);
      if (body !== undefined) return { head: parser.head!, body: textOf(join([body, ...chunks.slice(i + 1)])) };
    }
  } catch (error) {
    expect((error as CoreError).status).toBe(502);
    return (error as CoreError).code;
  }
  return undefined;
}
const head = (text: string): ResponseHead => {
  const parsed = parse([bytes(text)]);
  if (parsed === undefined || typeof parsed === "string") throw new Error(`no head: ${parsed}`);
  return parsed.head;
};

test("a page of PHP", () => {
  const text = "X-Powered-By: PHP/8.2\r\nContent-type: text/html; charset=UTF-8\r\n\r\n<p>\n\n";
  expect(parse([bytes(text)])).toEqual({
    head: {
      status: 200,
      reason: "OK",
      headers: [["X-Powered-By", "PHP/8.2"], ["Content-type", "text/html; charset=UTF-8"]],
    },
    body: "<p>\n\n",
  });
});

test("status, reason and redirect", () => {
  expect(head("Status: 404 Not Found\r\n\r\n")).toEqual({ status: 404, reason: "Not Found", headers: [] });
  expect(head("status:599\n\n").status).toBe(599);
  expect(head("HTTP/1.1 201 Created\r\nA: b\r\n\r\n")).toEqual({
    status: 201,
    reason: "Created",
    headers: [["A", "b"]],
  });
  expect(head("Location: /x\r\n\r\n")).toEqual({ status: 302, reason: "Found", headers: [["Location", "/x"]] });
  expect(head("Status: 201 Created\r\nLocation: /x\r\n\r\n").status).toBe(201);
  expect(head("Status: 404\r\nStatus: 200\r\n\r\n").status).toBe(404);
  expect(head("\r\n").status).toBe(200);
  expect(head("\n").headers).toEqual([]);
});

test("every Set-Cookie is kept, in order", () => {
  expect(head("Set-Cookie: a=1\r\nX: y\r\nSet-Cookie: b=2\r\n\r\n").headers).toEqual([
    ["Set-Cookie", "a=1"],
    ["X", "y"],
    ["Set-Cookie", "b=2"],
  ]);
});

test("values lose blanks around them and no byte else", () => {
  expect(head("A: \t b c \t\r\nB:\r\nC:x:y\n\n").headers).toEqual([["A", "b c"], ["B", ""], ["C", "x:y"]]);
  expect(head("A: \xa0\xff\x85\r\n\r\n").headers).toEqual([["A", "\xa0\xff\x85"]]);
});

test("what is no head is refused", () => {
  const refused = [
    "nonsense\n\n",
    ": x\n\n",
    "A b: c\n\n",
    "A: b\n folded\n\n",
    "A: b\rC: d\n\n",
    "A: \0\n\n",
    "A: b\nHTTP/1.1 200 OK\n\n",
    "\xe9: x\n\n",
  ];
  for (const reason of ["O\0K", "O\rK"]) {
    expect(parse([bytes(`HTTP/1.1 200 ${reason}\n\n`)])).toBe("PHP_STATUS_INVALID");
    expect(parse([bytes(`Status: 200 ${reason}\n\n`)])).toBe("PHP_HEAD_MALFORMED");
  }
  for (const text of refused) expect([text, parse([bytes(text)])]).toEqual([text, "PHP_HEAD_MALFORMED"]);
  for (const status of ["99", "099", "600", "999", "0", "", "abc", "20", "2000", "200x", "-200", "101"]) {
    expect([status, parse([bytes(`Status: ${status}\r\n\r\n`)])]).toEqual([status, "PHP_STATUS_INVALID"]);
  }
});

test("interim heads come before the real one", () => {
  const interim: number[] = [];
  const text = "Status: 103 Early Hints\r\nLink: </a.css>\r\n\r\nStatus: 404 Not Found\r\n\r\nbody";
  for (const chunks of [[bytes(text)], Array.from(text, bytes)]) {
    const parsed = parse(chunks, { onInterim: (hint) => void interim.push(hint.status) });
    expect(parsed).toEqual({ head: { status: 404, reason: "Not Found", headers: [] }, body: "body" });
  }
  expect(interim).toEqual([103, 103]);
  expect(parse([bytes("Status: 103 Early Hints\r\n\r\n<html>\n\n")])).toBe("PHP_HEAD_MALFORMED");
});

test("a head longer than the limit is refused, at the same byte for every cut", () => {
  const text = "A: bcd\r\n\r\nbody";
  for (const chunks of [[bytes(text)], Array.from(text, bytes)]) {
    expect(parse(chunks, { maxBytes: 9 })).toBe("PHP_HEAD_TOO_LARGE");
    expect((parse(chunks, { maxBytes: 10 }) as { body: string }).body).toBe("body");
  }
  expect(parse([bytes("Status: 103\n\nA: b\n\n")], { maxBytes: 18 })).toBe("PHP_HEAD_TOO_LARGE");
  expect(parse([new Uint8Array(128 * 1024).fill(65)])).toBe(undefined);
  expect(parse([new Uint8Array(128 * 1024 + 1).fill(65)])).toBe("PHP_HEAD_TOO_LARGE");
});

test("the end without a head is refused", () => {
  const parser = new HeadParser();
  parser.push(bytes("A: b\r\n"));
  expect(() => parser.finish()).toThrow("Expected a response head");
  parser.push(bytes("\r\n"));
  parser.finish();
});

const name = fc.stringMatching(/^[A-Za-z0-9-]{1,20}$/).filter((text) => !/^(status|location)$/i.test(text));
const value = fc.array(fc.integer({ min: 0x21, max: 0xff }), { maxLength: 30 }).map((codes) =>
  String.fromCharCode(...codes)
);
const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 20 });

test("any head comes out as it went in, wherever it is cut, and the runtime takes its headers", () => {
  const line = fc.tuple(name, value, fc.constantFrom("\n", "\r\n"));
  const response = fc.record({
    status: fc.integer({ min: 200, max: 599 }),
    lines: fc.array(line, { maxLength: 10 }),
    blank: fc.constantFrom("\n", "\r\n"),
    body: fc.string(),
    cuts,
  });
  fc.assert(fc.property(response, ({ status, lines, blank, body, cuts }) => {
    const text = `Status: ${status} Why\r\n${
      lines.map(([name, value, end]) => `${name}: ${value}${end}`).join("")
    }${blank}`;
    const sent = join([bytes(text), new TextEncoder().encode(body)]);
    const expected = {
      head: { status, reason: "Why", headers: lines.map(([name, value]) => [name, value] as const) },
      body: textOf(new TextEncoder().encode(body)),
    };
    expect(parse(cut(sent, cuts))).toEqual(expected);
  }));
});

test("random bytes are a head or an error with a code, the same for every cut", () => {
  const noise = fc.array(
    fc.oneof(
      fc.constantFrom("\n", "\r\n", "\r", ":", "Status: ", "Status: 103", "Location:", "a", " ", "\0"),
      fc.string({ maxLength: 3 }),
      fc.constantFrom("HTTP/1.1 ", "2", "00", "\xff"),
    ),
    { maxLength: 25 },
  ).map((parts) => bytes(parts.join("").replace(/[^\0-\xff]/g, "?")));
  fc.assert(
    fc.property(noise, cuts, fc.integer({ min: 1, max: 60 }), (sent, places, maxBytes) => {
      const whole = parse([sent], { maxBytes });
      const headers = typeof whole === "object" ? whole.head.headers : [];
      new Headers(headers.map(([name, value]): [string, string] => [name, value]));
      if (sent.length > 0) expect(parse(cut(sent, places), { maxBytes })).toEqual(whole);
    }),
    { numRuns: 1000 },
  );
});
