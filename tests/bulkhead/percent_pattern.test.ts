import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { percentPattern } from "../../plugins/bulkhead/percent_pattern.ts";

test("a percent sign stands for anything, and nothing else is special", () => {
  const reports = percentPattern("SELECT % FROM `orders`%");
  expect(reports("SELECT * FROM `orders` WHERE `id` = ?")).toBe(true);
  expect(reports("SELECT `a` FROM `orders`")).toBe(true);
  expect(reports("SELECT * FROM `orders_old`")).toBe(false);
  expect(reports("SELECT  FROM `orders`")).toBe(true);
  expect(percentPattern("a_c.*")("abc.x")).toBe(false);
  expect(percentPattern("ab%ba")("aba")).toBe(false);
  expect([percentPattern("a")("a"), percentPattern("a")("ab"), percentPattern("%")("")]).toEqual([true, false, true]);
});

test("it says what a regular expression would", () => {
  const texts = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 12 });
  const patterns = fc.string({ unit: fc.constantFrom("a", "b", "%"), maxLength: 8 });
  fc.assert(fc.property(patterns, texts, (pattern, text) => {
    expect(percentPattern(pattern)(text)).toBe(new RegExp(`^${pattern.replaceAll("%", ".*")}$`).test(text));
  }));
});
