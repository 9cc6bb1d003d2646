import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { Buffer } from "node:buffer";
import process from "node:process";
import { bodyType } from "../../../plugins/php/forms/content_type.ts";
import { phpLimits } from "../../../plugins/php/forms/limits.ts";
import { PhpArray, type PhpValue } from "../../../plugins/php/forms/php_array.ts";
import { phpForm } from "../../../plugins/php/forms/php_names.ts";
import { urlencodedParts } from "../../../plugins/php/forms/urlencoded.ts";
import { bytes, cut, parse } from "./support.ts";
import { type PhpCgi, type Seen, startPhpCgi } from "./php_cgi.ts";

/** Low, so that forms of a few parts meet them. */
const limits = { ...phpLimits, maxInputVars: 9, maxFileUploads: 3, uploadMaxFilesize: 40 };
/** Many more by hand: `FAIRLEAD_FORMS_RUNS=20000`, and another seed. */
const numRuns = Number(process.env["FAIRLEAD_FORMS_RUNS"] ?? 300);
const seed = Number(process.env["FAIRLEAD_FORMS_SEED"] ?? 20_261);

let php: PhpCgi;
beforeAll(async () => {
  php = await startPhpCgi({ max_input_vars: 9, max_file_uploads: 3, upload_max_filesize: 40 });
});
afterAll(() => php.stop());

function dump(value: PhpValue | number): unknown {
  if (typeof value === "number") return value;
  if (typeof value === "string") return `s${Buffer.from(value, "latin1").toString("hex")}`;
  return [...value].map(([key, item]) => [dump(key), dump(item)]);
}

function ours(contentType: string, body: Uint8Array, places: readonly number[]): Seen {
  const as = bodyType(contentType);
  const parts = as.type === "multipart"
    ? parse(as.boundary, cut(body, places), limits)
    : urlencodedParts(body, limits.maxInputVars);
  const { post, files } = phpForm(parts);
  return { post: dump(post), files: dump(files) };
}

const places = fc.array(fc.nat(), { maxLength: 5 });
const oneOf = (...values: readonly string[]) => fc.constantFrom(...values);
const glued = (piece: fc.Arbitrary<string>, maxLength: number) =>
  fc.array(piece, { maxLength }).map((pieces) => pieces.join(""));

/** Names that have something to do with PHP's rules. */
const name = fc.oneof(
  oneOf("a", "b", "f", "a[]", "a[b]", "f[]", "f[x]", "f[x][]", "MAX_FILE_SIZE", "__Host.x"),
  glued(
    oneOf("a", "b", "[", "]", "[]", "[k]", "[0]", "[-3]", "[12]", " ", ".", "_", "[ ", "\t", "é", "[name]", "\0"),
    6,
  ),
);

describe("PHP sees what we see", () => {
  test("in urlencoded forms", async () => {
    const text = glued(
      fc.oneof(
        name.map(encodeURIComponent),
        oneOf("+", "%41", "%", "%4", "%zz", "a", "\xff", "\0", "=", "&", "==", ";"),
      ),
      5,
    );
    const body = fc.array(fc.tuple(text, text).map(([key, value]) => `${key}=${value}`), { maxLength: 12 })
      .map((pairs) => pairs.join("&"));
    await fc.assert(
      fc.asyncProperty(body, async (text) => {
        const body = bytes(text);
        const type = "application/x-www-form-urlencoded; charset=UTF-8";
        expect(ours(type, body, [])).toEqual(await php.see(type, body));
      }),
      { numRuns, seed },
    );
  });

  test("in multipart forms as clients write them", async () => {
    const quoted = (text: string) => `"${text.replace(/["\\]/g, "\\$&")}"`;
    const content = glued(oneOf("x", "\r\n", "\n", "\r", "--", "--b", "\r\n--", "0123456789", "\0", "\xfe"), 8)
      .filter((text) => !text.includes("\n--b") && !text.startsWith("--b"));
    const field = fc.tuple(name, content).map(([name, value]) =>
      `Content-Disposition: form-data; name=${quoted(name)}\r\n\r\n${value}`
    );
    const file = fc.tuple(
      name,
      oneOf("", "x.png", "C:\\dir\\x", "dir/sub/y", 'a"b', "ü"),
      oneOf("", "text/x; a=b"),
      content,
    )
      .map(([name, filename, mime, value]) =>
        `Content-Disposition: form-data; name=${quoted(name)}; filename=${quoted(filename)}\r\n` +
        `${mime === "" ? "" : `Content-Type: ${mime}\r\n`}\r\n${value}`
      );
    const body = fc.array(fc.oneof(field, file), { maxLength: 14 })
      .map((parts) => `${parts.map((part) => `--b\r\n${part}\r\n`).join("")}--b--\r\n`);
    await fc.assert(
      fc.asyncProperty(body, places, async (text, places) => {
        const body = bytes(text);
        const type = "multipart/form-data; boundary=b";
        expect(ours(type, body, places)).toEqual(await php.see(type, body));
      }),
      { numRuns, seed },
    );
  });

  test("in what no client writes", async () => {
    const token = oneOf(
      ...[
        "--b\r\n",
        "\r\n--b\r\n",
        "--b--\r\n",
        "\n--b\n",
        "--bb\r\n",
        "\r\n",
        "\n",
        "\r",
        "--",
        "b",
        "x",
        "\0",
        ":",
        ";",
      ],
      ...[
        "Content-Disposition: form-data",
        "content-disposition:form-data; name=a\r\n\r\n",
        '; name="f"',
        "; name='g'",
      ],
      ...['; filename="y"', "; filename=", "; filename*=UTF-8''z", "; NAME = q", '; name="a\\"b"', " folded\r\n", "\t"],
      ...["Content-Type: text/plain;q\r\n", "Content-Type:\r\n", "X: y\r\n", "=", '"', "'", "\\"],
      ...[
        'Content-Disposition: form-data; name="u"; filename="v"\r\n\r\n',
        "0123456789".repeat(5),
        "; name=MAX_FILE_SIZE",
      ],
    );
    const type = oneOf(
      "multipart/form-data; boundary=b",
      'multipart/form-data; Boundary="b"; x',
      "multipart/form-data,boundary=b,",
    );
    await fc.assert(
      fc.asyncProperty(glued(token, 25), type, places, async (text, type, places) => {
        const body = bytes(`--b\r\nContent-Disposition: ${text}`);
        expect(ours(type, body, places)).toEqual(await php.see(type, body));
      }),
      { numRuns, seed },
    );
  });

  test("in long lines and long values", async () => {
    const long = fc.tuple(fc.nat(3), fc.integer({ min: -3, max: 3 })).map(([k, by]) =>
      "x".repeat(Math.max(0, k * 2560 + by))
    );
    const body = fc.tuple(long, long, long, oneOf(":", " ", "", "\n--b\n")).map(([a, b, c, mark]) =>
      `${a}\r\n--b\r\nX: ${b}${mark}\r\nContent-Disposition: form-data; name="${c}n"\r\n\r\n${a}\r\n--b\r\n` +
      `Content-Disposition: form-data; name=v\r\n\r\n${b}\r${c}\r\n--b--`
    );
    await fc.assert(
      fc.asyncProperty(body, places, async (text, places) => {
        const body = bytes(text);
        const type = "multipart/form-data; boundary=b";
        expect(ours(type, body, places)).toEqual(await php.see(type, body));
      }),
      { numRuns: Math.ceil(numRuns / 3), seed },
    );
  });

  test("in names nested too deep", async () => {
    const type = "application/x-www-form-urlencoded";
    for (const depth of [63, 64, 65, 66]) {
      const body = bytes(`a[x]=1&a${"[k]".repeat(depth)}=2&b=3`);
      expect(ours(type, body, [])).toEqual(await php.see(type, body));
    }
  });
});

test("the arrays are those of PHP", () => {
  const array = new PhpArray();
  array.set("-5", "a");
  array.append("b");
  array.set("7", "c");
  array.append("d");
  array.set("08", "e");
  expect([...array]).toEqual([[-5, "a"], [-4, "b"], [7, "c"], [8, "d"], ["08", "e"]]);
  expect(JSON.stringify(phpForm([{ kind: "field", name: "a[]", value: "\xc3\xa9" }]).post)).toBe('{"a":["é"]}');
});
