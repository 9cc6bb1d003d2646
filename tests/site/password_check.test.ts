import { describe, expect, test } from "bun:test";
import type { StoredHash } from "../../plugins/site/crypt/stored_hash.ts";
import { readBasic } from "../../plugins/site/basic.ts";
import { PasswordCheck } from "../../plugins/site/password_check.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

/** A hash that is the password backwards, counts how often it is made, and takes some steps. */
function backwards(text: string, steps = 3, costly = true) {
  const counted = { made: 0 };
  const stored: StoredHash = {
    text,
    costly,
    *hash(password) {
      counted.made++;
      for (let i = 0; i < steps; i++) yield;
      return [...new TextDecoder().decode(password)].reverse().join("");
    },
  };
  return { stored, counted };
}

/** A clock that each look moves on by 1 ms, and rests that end when told to. */
function virtual() {
  let now = 0;
  const rests: (() => void)[] = [];
  return {
    now: () => now++,
    rest: () => new Promise<void>((resolve) => rests.push(resolve)),
    pass: (ms: number) => void (now += ms),
    rests,
    async work() {
      for (let turn = 0; turn < 200; turn++) {
        rests.shift()?.();
        await Promise.resolve();
      }
    },
  };
}

describe("a check", () => {
  test("is made once for a page of a hundred files, and again after a minute", async () => {
    const clock = virtual(), { stored, counted } = backwards("terces");
    const check = new PasswordCheck(clock);
    const all = Array.from({ length: 100 }, () => check.check(stored, bytes("secret"), "a"));
    await clock.work();
    expect(new Set(await Promise.all(all))).toEqual(new Set(["right"]));
    expect(check.check(stored, bytes("secret"), "b")).toBe("right");
    expect(counted.made).toBe(1);
    clock.pass(60_000);
    const again = check.check(stored, bytes("secret"), "a");
    await clock.work();
    expect([await again, counted.made]).toEqual(["right", 2]);
  });

  test("of a wrong password is remembered for less long, and a new hash counts at once", async () => {
    const clock = virtual(), { stored, counted } = backwards("terces"), next = backwards("wen");
    const check = new PasswordCheck(clock);
    const ask = async (of: StoredHash, password: string) => {
      const verdict = check.check(of, bytes(password), "a");
      await clock.work();
      return await verdict;
    };
    expect(await ask(stored, "wrong")).toBe("wrong");
    expect(await ask(stored, "wrong")).toBe("wrong");
    expect(counted.made).toBe(1);
    clock.pass(10_000);
    expect([await ask(stored, "wrong"), counted.made]).toEqual(["wrong", 2]);
    expect(await ask(stored, "secret")).toBe("right");
    expect(await ask(next.stored, "secret")).toBe("wrong");
    expect(await ask(next.stored, "new")).toBe("right");
  });

  test("rests often, one at a time; who has four waiting, and everybody beyond 16, is told to come back", async () => {
    const clock = virtual(), { stored, counted } = backwards("terces", 50);
    const check = new PasswordCheck(clock);
    const flood = Array.from({ length: 20 }, (_, i) => check.check(stored, bytes(`wrong${i}`), "flood"));
    expect(flood.filter((verdict) => verdict === "busy").length).toBe(16);
    const others = Array.from({ length: 20 }, (_, i) => check.check(stored, bytes(`other${i}`), `client${i}`));
    expect(others.filter((verdict) => verdict === "busy").length).toBe(8);
    await Promise.resolve();
    await Promise.resolve();
    expect([clock.rests.length, counted.made]).toEqual([1, 1]);
    while (counted.made < 16) await clock.work();
    for (let i = 0; i < 3; i++) await clock.work();
    expect(new Set(await Promise.all(flood.slice(0, 4)))).toEqual(new Set(["wrong"]));
    const after = check.check(stored, bytes("secret"), "flood");
    await clock.work();
    expect(await after).toBe("right");
  });

  test("that costs nothing is made at once", () => {
    const { stored } = backwards("terces", 0, false);
    const check = new PasswordCheck();
    expect([check.check(stored, bytes("secret"), "a"), check.check(stored, bytes("x"), "a")]).toEqual([
      "right",
      "wrong",
    ]);
  });
});

test("credentials are what RFC 7617 says, in UTF-8", () => {
  const basic = (text: string) => {
    const said = readBasic(`Basic ${btoa(String.fromCharCode(...bytes(text)))}`);
    return said && [said.user, new TextDecoder().decode(said.password)];
  };
  expect(basic("anna:secret")).toEqual(["anna", "secret"]);
  expect(basic("j\u00f6rg:p\u00e4:ss")).toEqual(["j\u00f6rg", "p\u00e4:ss"]);
  expect(basic(":")).toEqual(["", ""]);
  expect(basic("anna")).toBe(undefined);
  expect(basic("anna:a\0b")).toBe(undefined);
  expect(basic(`anna:${"x".repeat(257)}`)).toBe(undefined);
  expect(readBasic("bAsIc  YTpi")?.user).toBe("a");
  for (const header of [null, "", "Basic", "Basic !", "Bearer YTpi", "Basic YTpi x"]) {
    expect(readBasic(header)).toBe(undefined);
  }
});
