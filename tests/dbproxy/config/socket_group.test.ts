import { describe, expect, test } from "bun:test";
import { giveToGroup, type GroupSystem } from "../../../plugins/dbproxy/socket_group.ts";

function given(group: string | undefined, fields: Partial<GroupSystem> = {}) {
  const calls: unknown[] = [];
  const from: GroupSystem = {
    groups: () => "root:x:0:\nwww-data:x:33:\nshop:x:1001:ann,ben\n",
    root: true,
    chown: (...call) => void calls.push(call),
    ...fields,
  };
  try {
    giveToGroup("/s", group, from);
    return calls;
  } catch (error) {
    return `${(error as { code?: string }).code}: ${(error as Error).message}`;
  }
}

describe("giveToGroup", () => {
  test("takes a name or a number", () => {
    expect(given("shop")).toEqual([["/s", 1001]]);
    expect(given("1234", { root: false })).toEqual([["/s", 1234]]);
  });

  test("gives it to PHP's usual group when the server is root and nothing is said", () => {
    expect(given(undefined)).toEqual([["/s", 33]]);
    expect(given(undefined, { groups: () => "" })).toEqual([]);
    expect(given(undefined, { root: false })).toEqual([]);
  });

  test("says why it cannot", () => {
    expect(given("nobody-here")).toBe(
      "DB_SOCKET_GROUP: Cannot give /s to the group nobody-here: there is none of that name",
    );
    const chown = () => {
      throw Object.assign(new Error("EPERM: operation not permitted"), { code: "EPERM" });
    };
    expect(given("shop", { chown })).toBe(
      "DB_SOCKET_GROUP: Cannot give /s to the group shop: the server's user must be in it, or be root",
    );
  });
});
