import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { Buffer } from "node:buffer";
import { CoreError } from "../../../core/error.ts";
import { readAnswerHead } from "../../../plugins/php/goridge/answer_head.ts";
import { type RequestContext, requestContext } from "../../../plugins/php/goridge/context.ts";
import { jsonContext } from "../../../plugins/php/goridge/context_json.ts";
import { protoContext, readProtoHead } from "../../../plugins/php/goridge/context_proto.ts";
import { exchangeOf } from "../support/exchange.ts";

const bare = { parsed: false, uploads: undefined };

function contextOf(text: string, attributes?: Record<string, string>): RequestContext {
  return requestContext(exchangeOf(`${text}\r\n\r\n`, { localPort: 8080 }), bare, attributes);
}

const json = (context: RequestContext) => JSON.parse(jsonContext(context)) as Record<string, unknown>;
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

describe("the context of a request", () => {
  test("in JSON", () => {
    const context = contextOf(
      "POST /a/b?x=1&y[]=2 HTTP/1.1\r\nHost: shop.test:8080\r\naccept-language: de\r\nCookie: a=1+2%20x; a=9; b; c=%zz\r\nX-1: y",
      { ipAddress: "127.0.0.1" },
    );
    expect(json(context)).toEqual({
      remoteAddr: "127.0.0.1",
      protocol: "HTTP/1.1",
      method: "POST",
      uri: "http://shop.test:8080/a/b?x=1&y[]=2",
      headers: {
        Host: ["shop.test:8080"],
        "Accept-Language": ["de"],
        Cookie: ["a=1+2%20x; a=9; b; c=%zz"],
        "X-1": ["y"],
      },
      // As PHP reads them: the first of a name, and no plus for a space.
      cookies: { a: "1+2 x", b: "", c: "%zz" },
      rawQuery: "x=1&y[]=2",
      parsed: false,
      uploads: null,
      attributes: { ipAddress: "127.0.0.1" },
    });
  });

  test("maps without entries are objects", () => {
    const text = jsonContext(contextOf("GET / HTTP/1.0"));
    expect(text).toContain('"headers":{}');
    expect(text).toContain('"cookies":{}');
    expect(text).toContain('"attributes":{}');
    expect(JSON.parse(text).uri).toBe("http://127.0.0.1:8080/");
  });

  test("in protobuf, as the golden vector has it", () => {
    expect(hex(protoContext(contextOf("GET /?a=1 HTTP/1.1\r\nHost: x")))).toBe(
      "0a093132372e302e302e311208485454502f312e311a03474554220d687474703a2f2f782f3f613d31" +
        "2a0b0a04486f737412030a01783a03613d31",
    );
  });

  test("fields that would be taken for others, or for numbers, do not reach PHP", () => {
    const context = contextOf(
      "GET / HTTP/1.1\r\nProxy: evil\r\nX_Forwarded_For: 1.2.3.4\r\n123: a\r\n-5: b\r\n0: c\r\n007: d",
    );
    expect(context.headers).toEqual([["007", "d"]]);
  });

  test("a target cannot break out of the URI", () => {
    const x = exchangeOf("GET /a HTTP/1.1\r\nHost: x\r\n\r\n", { localPort: 1 });
    const context = requestContext({ ...x, target: "/a b\r\nX: y\xe9", query: "q=\xff\0" }, bare);
    expect(context.uri).toBe("http://x/a%20bX:%20y%E9");
    expect(context.rawQuery).toBe("q=%FF");
  });

  test("bytes that are no UTF-8 survive in protobuf and become Latin-1 in JSON", () => {
    const context: RequestContext = {
      ...contextOf("GET / HTTP/1.1"),
      headers: [["X-A", "caf\xe9"], ["X-B", "caf\xc3\xa9"]],
      cookies: [["n\xe9", "\xff"]],
    };
    expect(json(context)).toMatchObject({ headers: { "X-A": ["café"], "X-B": ["café"] }, cookies: { né: "ÿ" } });
    const bytes = Buffer.from(protoContext(context));
    expect(bytes.includes(Buffer.from("\x0a\x04caf\xe9", "latin1"))).toBe(true);
    expect(bytes.includes(Buffer.from("\x0a\x05caf\xc3\xa9", "latin1"))).toBe(true);
    expect(bytes.includes(Buffer.from("n\xc3\xa9\x12\x03\x0a\x01\xff", "latin1"))).toBe(true);
  });

  test("long and many values keep their lengths in protobuf", () => {
    const value = fc.string({
      unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
      maxLength: 400,
    });
    fc.assert(fc.property(fc.array(value, { maxLength: 30 }), (values) => {
      const headers = values.map((one, i) => [`X-${i}`, one] as const);
      const context: RequestContext = {
        ...contextOf("GET / HTTP/1.1"),
        headers,
        method: "",
        protocol: "",
        uri: "",
        remoteAddr: "",
      };
      // A response has its headers in field 2, a request in field 5.
      const bytes = protoContext(context);
      const read = readProtoHead(bytes)!;
      expect(read.headers).toEqual([]);
      let at = 0;
      for (const [name, one] of headers) {
        const entry = Buffer.from(bytes.subarray(at)).indexOf(name, 0, "latin1");
        expect(entry >= 0).toBe(true);
        at += entry + name.length;
        expect(Buffer.from(bytes.subarray(at)).includes(one, 0, "latin1")).toBe(true);
      }
    }));
  });
});

describe("the head of an answer", () => {
  const head = (text: string) => readAnswerHead(Buffer.from(text));
  const code = (work: () => unknown) => {
    try {
      work();
    } catch (error) {
      return error instanceof CoreError && error.status === 502 ? error.code : String(error);
    }
    return "none";
  };

  test("in JSON", () => {
    expect(head('{"status":201,"headers":{"Set-Cookie":["a=1","b=2"],"X":"é","5":["n"]}}')).toEqual({
      status: 201,
      reason: "",
      headers: [["5", "n"], ["Set-Cookie", "a=1"], ["Set-Cookie", "b=2"], ["X", "\xc3\xa9"]],
    });
    expect(head('{"status":204,"headers":{}}')).toEqual({ status: 204, reason: "", headers: [] });
    expect(head('{"status":204,"headers":[]}')).toEqual({ status: 204, reason: "", headers: [] });
    expect(head('{"stop":true}')).toBe("stop");
    expect(head('{"status":200,"headers":{},"stop":true}')).toMatchObject({ status: 200 });
  });

  test("in protobuf, as the golden vector has it", () => {
    const bytes = Buffer.from("08c801121c0a0c436f6e74656e742d54797065120c0a0a746578742f706c61696e", "hex");
    expect(readAnswerHead(bytes)).toEqual({ status: 200, reason: "", headers: [["Content-Type", "text/plain"]] });
    const more = Buffer.concat([Buffer.from("1800220161" + "3d00000000", "hex"), bytes]);
    expect(readAnswerHead(more)).toMatchObject({ status: 200 });
  });

  test("what cannot be sent on is refused", () => {
    expect(code(() => head(""))).toBe("PHP_HEAD_MISSING");
    for (
      const text of ["{", "{}", '{"status":"200"}', '{"status":200,"headers":{"A":[null]}}', "[]", "hello", "\x08"]
    ) {
      expect(code(() => head(text))).toBe("PHP_HEAD_MALFORMED");
    }
    for (const status of [0, 99, 101, 600, 200.5, -1, 1e300]) {
      expect(code(() => head(`{"status":${status},"headers":{}}`))).toBe("PHP_STATUS_INVALID");
    }
    for (const headers of ['{"A b":["c"]}', '{"":["c"]}', '{"A":["b\\r\\nSet-Cookie: c"]}', '{"A":["b\\u0000"]}']) {
      expect(code(() => head(`{"status":200,"headers":${headers}}`))).toBe("PHP_HEAD_MALFORMED");
    }
  });

  test("hostile bytes are refused with a code", () => {
    const codes = new Set(["none", "PHP_HEAD_MISSING", "PHP_HEAD_MALFORMED", "PHP_STATUS_INVALID"]);
    const start = fc.constantFrom("", "{", "\x08\xc8\x01\x12", "\x12", '{"status":');
    fc.assert(fc.property(start, fc.uint8Array({ maxLength: 60 }), (first, rest) => {
      const found = code(() => readAnswerHead(Buffer.concat([Buffer.from(first, "latin1"), rest])));
      expect(codes.has(found) ? "" : found).toBe("");
    }));
  });
});
