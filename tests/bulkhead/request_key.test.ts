import { describe, expect, test } from "bun:test";
import { requestKey } from "../../plugins/bulkhead/request_key.ts";
import { exchange } from "./started.ts";

const of = (key: string, headers: Record<string, string> = {}) => requestKey(key)!(exchange("/a", { headers }));

describe("the key of a request", () => {
  test("is a header's value as it stands", () => {
    expect(of("header:X-Tenant", { "x-tenant": "acme" })).toBe("acme");
    expect(of("header:X-Tenant")).toBe("(none)");
  });

  test("is no more than a fingerprint of what lets its client in: names are in logs, on pages and in Redis", () => {
    for (
      const [key, headers, other] of [
        ["cookie:sid", { cookie: "a=1; sid=letmein" }, { cookie: "sid=another" }],
        ["header:Authorization", { authorization: "Bearer letmein" }, { authorization: "Bearer another" }],
      ] as const
    ) {
      expect(of(key, headers)).toMatch(/^[0-9a-f]{32}$/);
      expect(of(key, headers)).toBe(of(key, headers));
      expect(of(key, headers)).not.toBe(of(key, other));
      expect(of(key)).toBe("(none)");
    }
  });
});
