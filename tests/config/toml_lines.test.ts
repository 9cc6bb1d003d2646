import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { CoreError } from "../../core/error.ts";
import { isTable, type Path } from "../../core/config/path.ts";
import { parseToml } from "../../core/config/toml_lines.ts";

function syntaxError(text: string): string {
  try {
    parseToml(text, "fairlead.toml");
  } catch (error) {
    if (error instanceof CoreError && error.code === "CONFIG_SYNTAX") return error.message;
    throw error;
  }
  throw new Error("no error");
}

describe("parseToml", () => {
  test("knows the line of each kind of key", () => {
    const doc = parseToml(
      `top = 1 # [not.a.table]
a.b.c = 2

[ php . "po#ol" ]
'x.y' = """
[no]
quote "" = 1 \\"""
"""
y = '''
z = 1''''
after = [ # note ]
  1, [2,
  3], { k = "}", l.m = [
    4 ] },
]

[[routes]]
when = 1979-05-27 07:32:00
name = "a"
[routes.limit]
n = 1
[[routes.hosts]]
h = 1
[[routes.hosts]]
h = 2
[[routes]]
[[routes.hosts]]
h = 3
[php]
z = {}
`,
      "f",
    );
    const lines: [Path, number | undefined][] = [
      [["top"], 1],
      [["a"], 2],
      [["a", "b"], 2],
      [["a", "b", "c"], 2],
      [["php"], 29],
      [["php", "po#ol"], 4],
      [["php", "po#ol", "x.y"], 5],
      [["php", "po#ol", "y"], 9],
      [["php", "po#ol", "after"], 11],
      [["php", "po#ol", "after", 0], 12],
      [["php", "po#ol", "after", 1, 0], 12],
      [["php", "po#ol", "after", 1, 1], 13],
      [["php", "po#ol", "after", 2, "k"], 13],
      [["php", "po#ol", "after", 2, "l", "m", 0], 14],
      [["routes"], 17],
      [["routes", 0], 17],
      [["routes", 0, "when"], 18],
      [["routes", 0, "name"], 19],
      [["routes", 0, "limit", "n"], 21],
      [["routes", 0, "hosts", 1], 24],
      [["routes", 0, "hosts", 1, "h"], 25],
      [["routes", 1], 26],
      [["routes", 1, "hosts", 0, "h"], 28],
      [["php", "z"], 30],
      [["not"], undefined],
      [["routes", 2], undefined],
      [[], undefined],
    ];
    for (const [path, line] of lines) expect([path, doc.line(path)]).toEqual([path, line]);
  });

  test("counts CRLF once and forgives a byte order mark", () => {
    const doc = parseToml("\uFEFF[a]\r\n\r\nb = '''x\r\ny'''\r\nc = 1\r\n", "f");
    expect([doc.line(["a"]), doc.line(["a", "b"]), doc.line(["a", "c"])]).toEqual([1, 3, 5]);
  });

  test("is at ease with a long string", () => {
    const doc = parseToml(`a = """${"x\n".repeat(100_000)}"""\nb = "${"y".repeat(1_000_000)}"\nc = 1\n`, "f");
    expect(doc.line(["c"])).toBe(100_003);
  });

  test("names file, line and column of a syntax error", () => {
    expect(syntaxError("[php]\nroot = public\n")).toBe(
      "fairlead.toml:2:8: expected a value: a string in quotes, a number, true, false, an array or a table",
    );
    expect(syntaxError("a = 1\na = 2\n")).toBe(
      "fairlead.toml:2:1: trying to redefine an already defined table or value",
    );
    expect(syntaxError("[php\n")).toBe("fairlead.toml:1:5: illegal character in key");
    expect(syntaxError("__proto__ = 1\n")).toBe("fairlead.toml:1:1: document contains an unsafe property");
  });

  test("finds the line of every key of any document", () => {
    fc.assert(
      fc.property(document, ({ text, lines }) => {
        const doc = parseToml(text, "f");
        const found = [...paths(doc.value)].map((path) => [JSON.stringify(path), doc.line(path)] as const);
        expect(found.filter(([path, line]) => line === undefined || line !== (lines.get(path) ?? line))).toEqual([]);
        const names = new Set(found.map(([path]) => path));
        expect([...lines.keys()].filter((path) => !names.has(path))).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});

function* paths(value: unknown, path: Path = []): Generator<Path> {
  if (path.length > 0) yield path;
  if (Array.isArray(value)) { for (let i = 0; i < value.length; i++) yield* paths(value[i], [...path, i]); }
  else if (isTable(value)) { for (const key of Object.keys(value)) yield* paths(value[key], [...path, key]); }
}

/** A TOML text under construction that knows where each of its keys went. */
class Writer {
  text = "";
  readonly lines = new Map<string, number>();
  #keys = 0;

  write(text: string): void {
    this.text += text;
  }

  mark(path: Path): void {
    this.lines.set(JSON.stringify(path), this.text.split("\n").length);
  }

  /** A key never used before, spelt in one of four ways. */
  key(style: number): { readonly name: string; readonly spelt: string } {
    const n = this.#keys++;
    const styles = [[`k${n}`, `k${n}`], [`# ]"${n}`, `"# ]\\"${n}"`], [`.'=[${n}`, `"\\u002e'=[${n}"`], [
      `a."b${n}`,
      `'a."b${n}'`,
    ]];
    const [name, spelt] = styles[style % 4]! as [string, string];
    return { name, spelt };
  }
}

type Part = (w: Writer, path: Path) => void;

const scalar: fc.Arbitrary<Part> = fc.constantFrom(
  "1",
  "0xff",
  "1_000.5e3",
  "true",
  "inf",
  "1979-05-27",
  "1979-05-27 07:32:00",
  "1979-05-27T07:32:00Z",
  "07:32:00",
  `"# [x] = \\" {"`,
  "'\\ # }'",
  `""`,
  "''",
  `"""\n[no]\nk = 1 "" \\""" """`,
  "'''\n# '' ]\n'''",
  `"""a"""""`,
  "''''b'''''",
  `"""\\\n  x"""`,
).map((text) => (w) => w.write(text));
const space = fc.constantFrom("", " ", "\t ");
const gap = fc.constantFrom("", " ", "\n", ' # ] } , "\n', "\n\n\t");

const { pair } = fc.letrec<{ value: Part; pair: Part }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    fc.tuple(fc.array(fc.tuple(tie("value"), gap), { maxLength: 3 }), gap, fc.boolean()).map(
      ([items, first, comma]) => (w: Writer, path: Path) => {
        w.write("[" + first);
        items.forEach(([item, after], i) => {
          w.mark([...path, i]);
          item(w, [...path, i]);
          w.write(after + (comma || i < items.length - 1 ? "," : "") + after);
        });
        w.write("]");
      },
    ),
    fc.tuple(fc.array(tie("pair"), { maxLength: 3 }), space).map(([pairs, pad]) => (w: Writer, path: Path) => {
      w.write("{" + pad);
      pairs.forEach((pair, i) => {
        if (i > 0) w.write("," + pad);
        pair(w, path);
      });
      w.write(pad + "}");
    }),
  ),
  pair: fc.tuple(fc.array(fc.nat(3), { minLength: 1, maxLength: 3 }), space, tie("value")).map(
    ([styles, pad, value]) => (w: Writer, path: Path) => {
      const keys = styles.map((style) => w.key(style));
      const whole = [...path, ...keys.map(({ name }) => name)];
      w.mark(whole);
      w.write(keys.map(({ spelt }) => spelt).join(`${pad}.${pad}`) + `${pad}=${pad}`);
      value(w, whole);
    },
  ),
}));

const body = fc.array(fc.tuple(pair, gap), { maxLength: 3 }).map((pairs): Part => (w, path) => {
  for (const [pair, after] of pairs) {
    pair(w, path);
    w.write(after + "\n");
  }
});

const table: fc.Arbitrary<Part> = fc.tuple(fc.nat(3), fc.nat(3), space, body).map(([a, b, pad, body]) => (w, path) => {
  const keys = [w.key(a), w.key(b)];
  const whole = [...path, ...keys.map(({ name }) => name)];
  w.mark(whole);
  w.write(`[${pad}${keys.map(({ spelt }) => spelt).join(`${pad}.${pad}`)}${pad}] # ]\n`);
  body(w, whole);
});

const arrayOfTables: fc.Arbitrary<Part> = fc.tuple(
  fc.nat(3),
  space,
  fc.array(fc.tuple(body, fc.array(body, { maxLength: 2 }), body), { minLength: 1, maxLength: 3 }),
).map(([style, pad, items]) => (w, path) => {
  const { name, spelt } = w.key(style);
  items.forEach(([body, inner, limit], i) => {
    const whole = [...path, name, i];
    w.mark(whole);
    w.write(`[[${pad}${spelt}${pad}]]\n`);
    body(w, whole);
    inner.forEach((body, j) => {
      w.mark([...whole, "inner", j]);
      w.write(`[[${spelt}.inner]]\n`);
      body(w, [...whole, "inner", j]);
    });
    w.mark([...whole, "limit"]);
    w.write(`[${spelt}.limit]\n`);
    limit(w, [...whole, "limit"]);
  });
});

const document = fc.tuple(body, fc.array(fc.oneof(table, arrayOfTables), { maxLength: 4 }), fc.boolean()).map(
  ([root, parts, crlf]) => {
    const w = new Writer();
    root(w, []);
    for (const part of parts) part(w, []);
    return { text: crlf ? w.text.replaceAll("\n", "\r\n") : w.text, lines: w.lines };
  },
);
