import { describe, expect, test } from "bun:test";
import * as z from "zod";
import { explainConfig } from "../../cli/explain.ts";
import { maskMistake, maskUrls } from "../../core/config/places.ts";
import { parseConfigFile } from "../../core/config/read.ts";
import { secret } from "../../core/config/secret.ts";
import { validate } from "../../core/config/validate.ts";

const schema = z.strictObject({
  pin: secret().min(3),
  people: z.record(z.string(), secret()).default({}),
  list: z.array(secret()).default([]),
});

async function load(text: string) {
  return await validate(await parseConfigFile("f.toml", () => text), [{ name: "x", schema }]);
}

describe("a secret of the schema", () => {
  test("is not shown, at any depth", async () => {
    const config = await load('[x]\npin = "hidden"\nlist = ["hidden"]\npeople = { ann = "hidden" }\n');
    expect(config.values["x"]).toEqual({ pin: "hidden", list: ["hidden"], people: { ann: "hidden" } });
    const shown = explainConfig(config);
    expect(shown).toMatch(/pin = "\*\*\*"/);
    expect(shown).toMatch(/ann = "\*\*\*"/);
    expect(shown).not.toContain("hidden");
  });

  test("is not shown when it is wrong", async () => {
    const error = await load('[x]\npin = "hi"\npeople = { ann = 1234 }\n').catch((error) => error);
    expect(error.message).toBe(
      "f.toml has 2 problems:\n  f.toml:2: x.pin: must have at least 3 characters\n" +
        "  f.toml:3: x.people.ann: expected a string",
    );
  });
});

describe("maskUrls", () => {
  test("hides passwords in good URLs and in bad ones", () => {
    expect([
      "mysql://app:secret@db/shop",
      "mysql://app:se cret@db/shop",
      "mysql://app:se@c/ret@db/shop?tls=required",
      "mysql://app@db/shop?password=secret&tls=required",
      "redis://:secret@cache",
    ].map(maskUrls)).toEqual([
      "mysql://app:***@db/shop",
      "mysql://app:***@db/shop",
      "mysql://app:***@db/shop?tls=required",
      "mysql://app@db/shop?password=***&tls=required",
      "redis://:***@cache",
    ]);
  });

  test("hides them without a scheme where the value is wrong anyway", () => {
    expect(["app:secret@db/shop", "app:se@c@db", ":secret@db"].map(maskMistake)).toEqual([
      "app:***@db/shop",
      "app:***@db",
      ":***@db",
    ]);
  });

  test("leaves the rest alone", () => {
    for (const text of ["127.0.0.1:8080", "http://host:80/x", "unix:/run/x.sock", "mysql://app@db", "a@b", "10s"]) {
      expect([maskUrls(text), maskMistake(text)]).toEqual([text, text]);
    }
  });
});
