import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { requestDeadline } from "../../plugins/admission/request_deadline.ts";

const wall = Date.parse("2026-11-30T10:00:00Z");
const started = 990;
const now = () => ({ monotonic: 1000, wall });

const read = (headers: Record<string, string>) => requestDeadline(new Headers(headers), started, now);
const own = (value: string) => read({ "x-request-deadline": value });

describe("X-Request-Deadline", () => {
  test("is a moment of RFC 3339 with a zone", () => {
    expect(own("2026-11-30T10:00:01Z")).toBe(2000);
    expect(own("2026-11-30t10:00:01.25z")).toBe(2250);
    expect(own("2026-11-30T12:30:01+02:30")).toBe(2000);
    expect(own("2026-11-30T05:00:00.5-05:00")).toBe(1500);
    expect(own("2026-11-30T09:59:59Z")).toBe(0);
    expect(own("2028-02-29T00:00:00Z")).toBeGreaterThan(1e9);
    expect(own("2026-12-31T23:59:60Z") - own("2026-12-31T23:59:59Z")).toBe(1000);
  });

  test("is seconds of Unix time with a fraction", () => {
    expect(own(String(wall / 1000 + 3))).toBe(4000);
    expect(own(`${wall / 1000}.125`)).toBe(1125);
  });

  test("is a time from the arrival on, with its unit", () => {
    expect(own("250ms")).toBe(1240);
    expect(own("1.5s")).toBe(2490);
    expect(own("2m")).toBe(120_990);
    expect(own("0ms")).toBe(990);
  });

  test("is none in any other form", () => {
    const bad = [
      ...[
        "",
        "soon",
        "-1",
        "-1s",
        "+1s",
        "1",
        "1.5",
        "1h",
        "1 s",
        "1S",
        "s",
        ".5s",
        "1e3ms",
        "0x10ms",
        "NaN",
        "Infinity",
      ],
      ...["1s, 2s", "1s,1s", "\u0661s"],
      ...[String(wall), `${wall}.5`, "1796033700.", "01796033700000", "1796033700s5"],
      ...["2026-11-30T10:00:01", "2026-11-30 10:00:01Z", "2026-11-30", "2026-02-30T10:00:00Z", "2026-13-01T10:00:00Z"],
      ...["2026-11-30T24:00:00Z", "2026-11-30T10:60:00Z", "2026-11-30T10:00:61Z", "2026-11-30T10:00:01+24:00"],
      ...["2026-11-30T10:00:01.Z", "2026-11-30T10:00:01+0200", "Mon, 30 Nov 2026 10:00:01 GMT", "20261130T100001Z"],
    ];
    for (const text of bad) {
      let read: number;
      try {
        read = own(text);
      } catch {
        // A header cannot hold it.
        continue;
      }
      expect([text, read]).toEqual([text, Infinity]);
    }
  });
});

describe("the others' headers", () => {
  test("grpc-timeout has at most 8 digits and one of six units", () => {
    const grpc = (value: string) => read({ "grpc-timeout": value });
    expect(["2H", "3M", "4S", "5m"].map((value) => grpc(value) - started)).toEqual([7_200_000, 180_000, 4000, 5]);
    expect(grpc("600u") - started).toBeCloseTo(0.6, 6);
    expect(grpc("99999999n") - started).toBeCloseTo(99.999999, 6);
    for (const bad of ["123456789m", "5", "m", "5 m", "-5m", "1.5S", "5h", "5s"]) {
      expect([bad, grpc(bad)]).toEqual([bad, Infinity]);
    }
  });

  test("x-envoy-expected-rq-timeout-ms is whole milliseconds, and 0 is none", () => {
    const envoy = (value: string) => read({ "x-envoy-expected-rq-timeout-ms": value });
    expect([envoy("15"), envoy("0"), envoy("1.5"), envoy("15ms"), envoy("-1")]).toEqual([
      started + 15,
      ...[Infinity, Infinity, Infinity, Infinity],
    ]);
  });

  test("the earliest counts, and none is no deadline", () => {
    const all = { "x-request-deadline": "3s", "grpc-timeout": "2S", "x-envoy-expected-rq-timeout-ms": "2500" };
    expect(read(all)).toBe(started + 2000);
    expect(read({ ...all, "x-request-deadline": "1s" })).toBe(started + 1000);
    expect(read({ ...all, "x-request-deadline": "bad" })).toBe(started + 2000);
    expect(read({})).toBe(Infinity);
  });
});

test("no text makes anything but a moment or none, and what is read is what was written", () => {
  const moments = fc.integer({ min: 1_000_000_000_000, max: 4_000_000_000_000 });
  fc.assert(fc.property(moments, (at) => {
    expect(own(new Date(at).toISOString())).toBeCloseTo(1000 + at - wall, 2);
    expect(own((at / 1000).toFixed(3))).toBeCloseTo(1000 + at - wall, 2);
  }));
  fc.assert(fc.property(fc.string({ unit: "binary-ascii", maxLength: 30 }), (text) => {
    const value = requestDeadline({ get: () => text }, started, now);
    expect(Number.isNaN(value)).toBe(false);
    expect(value >= started || /T/i.test(text) || /^\d{10}/.test(text)).toBe(true);
  }));
});
