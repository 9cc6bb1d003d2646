import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { Buffer } from "node:buffer";
import { phpLimits } from "../../../plugins/php/forms/limits.ts";
import { MultipartParser } from "../../../plugins/php/forms/multipart.ts";
import { bytes, Collected, cut, parse, part } from "./support.ts";

describe("MultipartParser", () => {
  test("finds the same wherever a body is cut", () => {
    const piece = fc.constantFrom(
      ...[
        "--b\r\n",
        "\r\n--b\r\n",
        "--b--\r\n",
        "\n--b\n",
        "\r\n",
        "\n",
        "\r",
        "--",
        "b",
        "\0",
        "Content-Type: a/b\r\n",
      ],
      ...[
        'Content-Disposition: form-data; name="u"; filename="v"\r\n\r\n',
        "Content-Disposition: form-data; name=a\r\n\r\n",
      ],
      "x".repeat(5115),
    );
    const text = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(""));
    const start = fc.constantFrom("", "--b\r\nContent-Disposition: form-data; name=z; filename=z\r\n");
    fc.assert(
      fc.property(start, text, fc.array(fc.nat(), { maxLength: 8 }), fc.boolean(), (start, text, places, small) => {
        const body = bytes(start + text);
        const limits = small ? { uploadMaxFilesize: 12, maxFileUploads: 3, maxInputVars: 3 } : {};
        const whole = parse("b", [body], limits);
        expect(parse("b", cut(body, places), limits)).toEqual(whole);
        if (body.length < 1000) {
          expect(parse("b", Array.from(body, (byte) => Uint8Array.of(byte)), limits)).toEqual(whole);
        }
      }),
      { numRuns: 1000 },
    );
  });

  test("gives back every value a client can write, byte by byte", () => {
    const value = fc.uint8Array({ maxLength: 60 }).map((value) => Buffer.from(value).toString("latin1"))
      .filter((value) => !value.includes("\n--b"));
    const many = fc.array(fc.tuple(fc.boolean(), value), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(many, fc.array(fc.nat(), { maxLength: 8 }), (values, places) => {
        const body = values.map(([file, value]) => part(file ? "name=n; filename=f" : "name=n", value)).join("");
        const found = parse("b", cut(bytes(`${body}--b--\r\n`), places));
        expect(
          found.map((part) => part.kind === "file" ? part.path : Buffer.from(part.value, "latin1").toString("hex")),
        )
          .toEqual(values.map(([, value]) => Buffer.from(value, "latin1").toString("hex")));
      }),
      { numRuns: 300 },
    );
  });

  test("holds nothing of a file, and looks at no byte twice", () => {
    const chunk = Buffer.from(`\n--${"b".repeat(69)}`.repeat(900));
    let taken = 0;
    const sink = new Collected();
    sink.fileData = (bytes) => void (taken += bytes.length);
    const parser = new MultipartParser("b".repeat(70), { ...phpLimits, uploadMaxFilesize: 0 }, sink);
    parser.push(bytes(`--${"b".repeat(70)}\r\nContent-Disposition: form-data; name=a; filename=b\r\n\r\n`));
    const started = performance.now();
    for (let i = 0; i < 200; i++) {
      parser.push(chunk);
      // All but what may be the beginning of a delimiter.
      expect((i + 1) * chunk.length - taken).toBe(72);
    }
    // 13 MB: some ms. Squared, minutes.
    expect(performance.now() - started).toBeLessThan(3000);
  });

  test("reads a head of one-byte chunks and one of thousands of quotes in no time", () => {
    const started = performance.now();
    const head = `--b\r\nContent-Disposition: form-data; ${"a=\"'\\".repeat(400)}\r\n${"x=';\r\n".repeat(2000)}`;
    const body = bytes(`${head}\r\nvalue\r\n--b--`);
    parse("b", Array.from(body, (byte) => Uint8Array.of(byte)));
    parse("b", [body]);
    expect(performance.now() - started).toBeLessThan(3000);
  });
});
