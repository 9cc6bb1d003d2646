import { expect, test } from "bun:test";
import { readReplyHead } from "../../plugins/php/reply_head.ts";

test("what is between two hops, the length and the request's id are not PHP's to send", () => {
  const headers = [
    ["X-A", "1"],
    ["Connection", "close"],
    ["Content-Length", "5"],
    ["X-Request-ID", "php's own"],
    ["Content-Type", "text/plain"],
  ] as const;
  const head = readReplyHead({ status: 200, reason: "OK", headers });
  expect(head.headers as unknown).toEqual([["X-A", "1"], ["Content-Type", "text/plain"]]);
  expect(head.length).toBe(5);
});

test("the length beside the name of a file is that of the file, not of the body", () => {
  for (const name of ["X-Accel-Redirect", "X-Sendfile"]) {
    for (const headers of [[[name, "/a"], ["Content-Length", "5"]], [["Content-Length", "5"], [name, "/a"]]] as const) {
      const head = readReplyHead({ status: 200, reason: "OK", headers });
      expect([head.length, head.headers as unknown]).toEqual([-1, [[name, "/a"]]]);
    }
  }
});
