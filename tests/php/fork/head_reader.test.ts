import { describe, expect, test } from "bun:test";
import { Buffer } from "node:buffer";
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import * as fc from "fast-check";
import { phpArray, phpFloat, phpInt, phpString } from "../../../plugins/php/native/php_serialize.ts";

const reader = fileURLToPath(new URL("../../../php/src/Fork/HeadReader.php", import.meta.url));

/** What PHP says of each of these texts: whether it is read as by `unserialize`, or refused. */
function compare(texts: readonly string[]): string[] {
  const code = `require ${JSON.stringify(reader)};
    foreach (json_decode(stream_get_contents(STDIN)) as $text) {
      $bytes = base64_decode($text);
      try {
        $same = serialize(Fairlead\\Worker\\Fork\\HeadReader::read($bytes)) === serialize(@unserialize($bytes));
        echo $same ? "same\\n" : "other\\n";
      } catch (RuntimeException) {
        echo "refused\\n";
      }
    }`;
  const input = JSON.stringify(texts.map((text) => Buffer.from(text, "latin1").toString("base64")));
  return execFileSync("php", ["-d", "error_reporting=-1", "-r", code], { input }).toString().trim().split("\n");
}

const bytes = fc.string({
  unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
  maxLength: 12,
});
const key = fc.oneof(bytes.map(phpString), fc.integer({ min: -9, max: 99 }).map((number) => phpString(String(number))));
const { value } = fc.letrec<{ value: string; array: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    bytes.map(phpString),
    fc.integer().map(phpInt),
    fc.double({ noNaN: true }).map(phpFloat),
    tie("array"),
  ),
  array: fc.array(fc.tuple(key, tie("value")), { maxLength: 4 })
    .map((entries) => phpArray(entries.length, entries.flat().join(""))),
}));

describe("the reader of a forked child", () => {
  test("reads what unserialize reads", () => {
    const heads = fc.sample(value.map((one) => phpArray(1, phpString("server") + one)), { numRuns: 300, seed: 1 });
    expect(new Set(compare(heads))).toEqual(new Set(["same"]));
  });

  test("refuses what is no array, or not the whole of it", () => {
    const texts = [phpString("a"), phpInt(1), "", "N;", "a:1:{", `${phpArray(0, "")}x`, "a:1:{i:0;b:1;}", "a"];
    expect(compare(texts)).toEqual(texts.map(() => "refused"));
  });
});
