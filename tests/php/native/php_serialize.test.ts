import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { Buffer } from "node:buffer";
import { execFileSync } from "node:child_process";
import type { CoreError } from "../../../core/error.ts";
import {
  phpArray,
  phpFloat,
  phpInt,
  phpList,
  phpString,
  readPhpValue,
} from "../../../plugins/php/native/php_serialize.ts";

/** What PHP makes of serialized values, as JSON; strings as hex. */
function byPhp(values: readonly string[]): unknown[] {
  const code = `function show($v) { return is_string($v) ? bin2hex($v) : (is_array($v)
      ? array_map(fn($k) => [show($k), show($v[$k])], array_keys($v)) : (is_float($v) ? 'float ' . var_export($v, true) : $v)); }
    ini_set('serialize_precision', -1);
    while (($line = fgets(STDIN)) !== false) {
      $v = unserialize(base64_decode($line), ['allowed_classes' => false]);
      echo json_encode(show($v)), "\\n";
    }`;
  const input = values.map((value) => `${Buffer.from(value, "latin1").toString("base64")}\n`).join("");
  const out = execFileSync("php", ["-d", "error_reporting=-1", "-r", code], { input, maxBuffer: 1 << 26 }).toString();
  return out.trim().split("\n").map((line) => JSON.parse(line));
}

const hex = (text: string, encoding: "latin1" | "utf8" = "latin1") => Buffer.from(text, encoding).toString("hex");
const byteString = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString("latin1"));

describe("PHP reads", () => {
  test("byte strings, byte by byte", () => {
    const texts = ["", 'a"b;c', "\0\xff", ...fc.sample(byteString, 200)];
    expect(byPhp(texts.map(phpString))).toEqual(texts.map((text) => hex(text)));
  });

  test("other text as UTF-8", () => {
    const texts = ["\u0160", "caf\u00e9 \u2013 \u{1f600}"];
    expect(byPhp(texts.map(phpString))).toEqual(texts.map((text) => hex(text, "utf8")));
  });

  test("numbers", () => {
    const floats = [0.1, 1793337000.123, -1e300, 5e-324, 1e21, Infinity, -Infinity];
    const php = byPhp([...floats.map(phpFloat), phpInt(-5), phpInt(2 ** 40)]);
    expect(php.slice(-2)).toEqual([-5, 2 ** 40]);
    const shown = (php.slice(0, -2) as string[]).map((text) => text.replace("float ", "").replace("INF", "Infinity"));
    expect(shown.map(Number)).toEqual(floats);
  });

  test("lists", () => {
    const list = phpList([phpString("x"), phpArray(0, "")]);
    expect(byPhp([phpArray(1, phpString("a") + phpInt(3)), list])).toEqual([[["61", 3]], [[0, "78"], [1, []]]]);
  });
});

describe("the reader", () => {
  const read = (text: string) => readPhpValue(Buffer.from(text, "latin1"));

  test("reads what PHP writes", () => {
    const code =
      "echo serialize(['v' => 1, 'token' => \"a\\\"b\\0\", 'n' => null, 'y' => true, 'no' => false, 7 => -3, 'in' => [[]]]);";
    const value = readPhpValue(execFileSync("php", ["-r", code]));
    expect(value).toEqual(
      new Map<string | number, unknown>([
        ["v", 1],
        ["token", 'a"b\0'],
        ["n", null],
        ["y", true],
        ["no", false],
        [7, -3],
        ["in", new Map([[0, new Map()]])],
      ]) as never,
    );
  });

  test("refuses all else", () => {
    const cases = [
      "",
      "N",
      "N;N;",
      "i:1",
      "i:01;",
      "i:-0;",
      "i:99999999999999999;",
      "b:2;",
      "d:1.5;",
      's:2:"a";',
      's:1:"a"',
      's:99999999999:"a";',
      "a:1:{}",
      "a:0:{N;}",
      "a:1:{N;N;}",
      "a:1:{a:0:{}N;}",
      "a:1:{i:0;R:1;}",
      'O:8:"stdClass":0:{}',
      'C:1:"A":0:{}',
      "a:9999999:{",
      "a:1:{i:0;".repeat(10) + "N;" + "}".repeat(10),
    ];
    for (const text of cases) expect([text, code(() => read(text))]).toEqual([text, "PHP_PROTOCOL"]);
  });

  test("never does anything else to an enemy's bytes", () => {
    const base = 'a:2:{s:1:"v";i:1;s:5:"token";s:3:"abc";}';
    fc.assert(fc.property(fc.array(fc.tuple(fc.nat(base.length - 1), fc.nat(255)), { maxLength: 4 }), (edits) => {
      const bytes = Buffer.from(base, "latin1");
      for (const [at, byte] of edits) bytes[at] = byte;
      const found = code(() => readPhpValue(bytes));
      expect([undefined, "PHP_PROTOCOL"]).toContain(found);
    }));
  });

  function code(task: () => void): string | undefined {
    try {
      task();
      return undefined;
    } catch (error) {
      return (error as CoreError).code ?? String(error);
    }
  }
});
