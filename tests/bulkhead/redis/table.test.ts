import { describe, expect, test } from "bun:test";
import { redisTable } from "../../../plugins/bulkhead/redis/table.ts";

describe("[bulkhead.redis]", () => {
  test("has a default for everything", () => {
    expect(redisTable.parse({})).toEqual({
      url: "redis://127.0.0.1:6379",
      prefix: "fairlead:bulkhead:",
      outage: "closed",
      grace: 500,
      hosts: 1,
      tick: 1000,
      connect_timeout: 2000,
      command_timeout: 2000,
    });
  });

  test("says what cannot be", () => {
    for (
      const bad of [{ url: "http://x" }, { prefix: "a{b}" }, { prefix: "a'b" }, { outage: "half" }, { hosts: 0 }, {
        host: "x",
      }]
    ) {
      expect(redisTable.safeParse(bad).success).toBe(false);
    }
  });
});
