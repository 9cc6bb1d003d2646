import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { precondition, rangeApplies } from "../../plugins/static/conditions.ts";
import { negotiate } from "../../core/http/accept_encoding.ts";
import { type Encoding, encodings } from "../../plugins/static/encoding.ts";
import { cacheControl } from "../../plugins/static/cache_rules.ts";
import { formatHttpDate, parseHttpDate } from "../../plugins/static/http_date.ts";
import { isPacked, mediaType } from "../../plugins/static/media_type.ts";
import { LAST_MODIFIED, MTIME } from "./support.ts";

const NOW = Date.UTC(2025, 0, 1);
const BEFORE = formatHttpDate(MTIME * 1000 - 1000);
const AFTER = formatHttpDate(MTIME * 1000 + 1000);
const current = { etag: '"a-1"', lastModified: MTIME * 1000 };

describe("conditions", () => {
  const cases: [expected: number, headers: Record<string, string>][] = [
    [200, {}],
    [304, { "if-none-match": '"a-1"' }],
    [304, { "if-none-match": 'W/"a-1"' }],
    [304, { "if-none-match": '"x", W/"y,z" ,"a-1"' }],
    [304, { "if-none-match": ', "x",,"a-1"' }],
    [304, { "if-none-match": "*" }],
    [200, { "if-none-match": '"x"' }],
    [200, { "if-none-match": "a-1" }],
    [200, { "if-none-match": '"x, "a-1"' }],
    [200, { "if-none-match": '"a-1-br"' }],
    [304, { "if-modified-since": LAST_MODIFIED }],
    [304, { "if-modified-since": AFTER }],
    [200, { "if-modified-since": BEFORE }],
    [200, { "if-modified-since": "yesterday" }],
    [200, { "if-modified-since": "2030" }],
    [200, { "if-none-match": '"x"', "if-modified-since": AFTER }],
    [304, { "if-none-match": '"a-1"', "if-modified-since": BEFORE }],
    [200, { "if-match": '"a-1"' }],
    [200, { "if-match": '"x", "a-1"' }],
    [200, { "if-match": "*" }],
    [412, { "if-match": 'W/"a-1"' }],
    [412, { "if-match": '"x"' }],
    [412, { "if-match": '"x"', "if-none-match": '"a-1"' }],
    [304, { "if-match": '"a-1"', "if-none-match": '"a-1"' }],
    [200, { "if-unmodified-since": LAST_MODIFIED }],
    [200, { "if-unmodified-since": AFTER }],
    [412, { "if-unmodified-since": BEFORE }],
    [200, { "if-unmodified-since": "nonsense" }],
    [200, { "if-match": '"a-1"', "if-unmodified-since": BEFORE }],
  ];
  test("follow the order and the comparisons of RFC 9110", () => {
    for (const [expected, headers] of cases) {
      expect({ headers, answer: precondition(new Headers(headers), current, NOW) }).toEqual({
        headers,
        answer: expected as 200,
      });
    }
  });

  test("If-Range takes a strong tag, or the exact date", () => {
    expect(rangeApplies(null, current, NOW)).toBe(true);
    expect(rangeApplies('"a-1"', current, NOW)).toBe(true);
    expect(rangeApplies('W/"a-1"', current, NOW)).toBe(false);
    expect(rangeApplies('"b"', current, NOW)).toBe(false);
    expect(rangeApplies(LAST_MODIFIED, current, NOW)).toBe(true);
    expect(rangeApplies(AFTER, current, NOW)).toBe(false);
    expect(rangeApplies(BEFORE, current, NOW)).toBe(false);
    expect(rangeApplies("nonsense", current, NOW)).toBe(false);
    // Written this very second: it may change again under the same date.
    expect(rangeApplies(LAST_MODIFIED, current, MTIME * 1000 + 900)).toBe(false);
  });
});

describe("dates", () => {
  test("three forms are read", () => {
    const ms = Date.UTC(1994, 10, 6, 8, 49, 37);
    expect(parseHttpDate("Sun, 06 Nov 1994 08:49:37 GMT", NOW)).toBe(ms);
    expect(parseHttpDate("Sunday, 06-Nov-94 08:49:37 GMT", NOW)).toBe(ms);
    expect(parseHttpDate("Sun Nov  6 08:49:37 1994", NOW)).toBe(ms);
    expect(parseHttpDate("Thursday, 06-Nov-70 08:49:37 GMT", NOW)).toBe(Date.UTC(2070, 10, 6, 8, 49, 37));
  });

  test("nothing else is", () => {
    const wrong = ["", "0", "2024-05-06", "Sun, 06 Nov 1994 08:49:37", "Sun, 31 Feb 1994 08:49:37 GMT"];
    for (const text of [...wrong, "Sun, 06 ovD 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT"]) {
      expect([text, parseHttpDate(text, NOW)]).toEqual([text, undefined]);
    }
  });

  test("what is sent can be read back", () => {
    fc.assert(fc.property(fc.integer({ min: 0, max: 4_000_000_000 }), (s) => {
      expect(parseHttpDate(formatHttpDate(s * 1000), NOW)).toBe(s * 1000);
    }));
  });
});

describe("Accept-Encoding", () => {
  const names = (header: string | null, available: readonly Encoding[] = encodings) =>
    negotiate(header, available)?.name;
  const [br, zstd, gzip] = encodings as [Encoding, Encoding, Encoding];

  test("the best of what is accepted and at hand", () => {
    expect(names("gzip, deflate, br, zstd")).toBe("br");
    expect(names("gzip, deflate, br, zstd", [zstd, gzip])).toBe("zstd");
    expect(names("gzip", [br])).toBe(undefined);
    expect(names("x-gzip")).toBe("gzip");
    expect(names("GZIP")).toBe("gzip");
    expect(names("*")).toBe("br");
    expect(names("deflate")).toBe(undefined);
    expect(names("")).toBe(undefined);
    expect(names(null)).toBe(undefined);
    expect(names("br", [])).toBe(undefined);
  });

  test("by weight", () => {
    expect(names("br;q=0.5, gzip;q=0.9, zstd ; q=0.1")).toBe("gzip");
    expect(names("br;q=0, gzip")).toBe("gzip");
    expect(names("br;q=0.000")).toBe(undefined);
    expect(names("*;q=0")).toBe(undefined);
    expect(names("br;q=0, *")).toBe("zstd");
    expect(names("gzip;q=0.5, identity")).toBe(undefined);
    expect(names("gzip, identity;q=0.5")).toBe("gzip");
    expect(names("gzip, identity")).toBe("gzip");
    expect(names("identity;q=0, gzip;q=0.1")).toBe("gzip");
    expect(names("br;q=x, gzip")).toBe("gzip");
    expect(names("br;q=2, gzip;q=0.2")).toBe("gzip");
  });
});

describe("cache rules", () => {
  test("the first rule that matches counts", () => {
    const find = cacheControl([{ match: "/build/**", value: "immutable" }, { match: "/**", value: "no-cache" }]);
    expect(find("/build/a.js")).toBe("immutable");
    expect(find("/a.js")).toBe("no-cache");
    expect(cacheControl([])("/a.js")).toBe(undefined);
  });
});

describe("media types", () => {
  test("text has a charset, the unknown is bytes", () => {
    expect(mediaType("/a.js")).toBe("text/javascript; charset=utf-8");
    expect(mediaType("/a.CSS")).toBe("text/css; charset=utf-8");
    expect(mediaType("/a.html")).toBe("text/html; charset=utf-8");
    expect(mediaType("/a.json")).toBe("application/json; charset=utf-8");
    expect(mediaType("/a.svg")).toBe("image/svg+xml; charset=utf-8");
    expect(mediaType("/a.webmanifest")).toBe("application/manifest+json; charset=utf-8");
    expect(mediaType("/a.png")).toBe("image/png");
    expect(mediaType("/a.wasm")).toBe("application/wasm");
    // What mrmime leaves out: types of vendors, and unregistered ones.
    expect(mediaType("/favicon.ICO")).toBe("image/x-icon");
    expect(mediaType("/a.docx")).toBe("application/vnd.openxmlformats-officedocument.wordprocessingml.document");
    expect(mediaType("/a.ods")).toBe("application/vnd.oasis.opendocument.spreadsheet");
    expect(mediaType("/live.m3u8")).toBe("application/vnd.apple.mpegurl");
    expect(mediaType("/a.eot")).toBe("application/vnd.ms-fontobject");
    for (const path of ["/README", "/json", "/x.json/html", "/a.", "/a.unknown", "/a.constructor", "/a.__proto__"]) {
      expect([path, mediaType(path)]).toEqual([path, "application/octet-stream"]);
    }
  });

  test("only what is not compressed yet has siblings", () => {
    for (const path of ["/a.png", "/a.mp4", "/a.woff2", "/a.zip", "/a.gz", "/a.docx", "/a.odt", "/a.rar"]) {
      expect(isPacked(mediaType(path))).toBe(true);
    }
    for (const path of ["/a.svg", "/a.js", "/a.ttf", "/a.wasm", "/a.ico", "/a.unknown"]) {
      expect([path, isPacked(mediaType(path))]).toEqual([path, false]);
    }
  });
});
