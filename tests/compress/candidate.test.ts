import { describe, expect, test } from "bun:test";
import { encoded, type Rules, vary, worthIt } from "../../plugins/compress/candidate.ts";

const rules: Rules = { types: ["text/*", "*+json", "application/json"], minSize: 1000 };
const html = { "content-type": "text/html; charset=UTF-8" };

describe("what is worth compressing", () => {
  const worth = (headers: Record<string, string>, status = 200, length = 5000) =>
    worthIt(status, new Headers(headers), length, rules);

  test("is text, whole, and long enough or of unknown length", () => {
    expect(worth(html)).toBe(true);
    expect(worth({ "content-type": "TEXT/CSS" })).toBe(true);
    expect(worth({ "content-type": "application/ld+json" })).toBe(true);
    expect(worth({ "content-type": "application/json" }, 404)).toBe(true);
    expect([worth(html, 200, 999), worth(html, 200, 1000), worth(html, 200, -1)]).toEqual([false, true, true]);
  });

  test("is nothing of a type that is not named, or of none", () => {
    for (const type of ["image/png", "application/jsonx", "application/json5", "textual/x", ""]) {
      expect([type, worth({ "content-type": type })]).toEqual([type, false]);
    }
    expect(worth({})).toBe(false);
  });

  test("is no stream of events, whatever is said of text", () => {
    expect(worth({ "content-type": "text/event-stream" })).toBe(false);
    expect(worth({ "content-type": "Text/Event-Stream;charset=utf-8" })).toBe(false);
  });

  test("is nothing that is encoded, a part, without a body, or not to be changed", () => {
    expect(worth({ ...html, "content-encoding": "br" })).toBe(false);
    expect(worth({ ...html, "content-range": "bytes 0-9/100" })).toBe(false);
    for (const status of [101, 204, 205, 304, 416]) expect([status, worth(html, status)]).toEqual([status, false]);
    for (const value of ["no-transform", "max-age=60, No-Transform", "public,no-transform,max-age=1"]) {
      expect([value, worth({ ...html, "cache-control": value })]).toEqual([value, false]);
    }
    expect(worth({ ...html, "cache-control": "x-no-transform=1" })).toBe(true);
  });
});

describe("what is said of a compressed response", () => {
  test("is no longer what was said of its bytes", () => {
    const before = new Headers({
      ...html,
      etag: '"5-a"',
      "content-length": "5000",
      "accept-ranges": "bytes",
      "content-digest": "sha-256=:x:",
      vary: "Cookie",
    });
    before.append("set-cookie", "a=1");
    before.append("set-cookie", "b=2");
    const after = encoded(before, "zstd");
    expect(after.getSetCookie()).toEqual(["a=1", "b=2"]);
    after.delete("set-cookie");
    expect(Object.fromEntries(after)).toEqual({
      ...html,
      etag: 'W/"5-a"',
      "content-encoding": "zstd",
      vary: "Cookie, Accept-Encoding",
    });
    expect(before.get("content-length")).toBe("5000");
    expect(encoded(new Headers({ etag: 'W/"1"' }), "gzip").get("etag")).toBe('W/"1"');
  });

  test("is that it varies, once", () => {
    for (const value of ["accept-encoding", "Cookie,Accept-Encoding", "*"]) {
      const headers = new Headers({ vary: value });
      vary(headers);
      expect(headers.get("vary")).toBe(value);
    }
  });
});
