import { describe, expect, test } from "bun:test";
import { rrForm } from "../../../plugins/php/forms/rr_names.ts";
import type { FormPart } from "../../../plugins/php/worker/body.ts";

const fields = (...pairs: readonly [name: string, value: string][]): FormPart[] =>
  pairs.map(([name, value]) => ({ kind: "field", name, value }));

const body = (...pairs: readonly [name: string, value: string][]) => JSON.parse(rrForm(fields(...pairs)).body);

describe("rrForm", () => {
  test("makes a tree of the names", () => {
    expect(body(["a", "1"], ["b[c][d]", "2"], ["b[c][e]", "3"], ["l[]", "4"], ["l[]", "5"], ["m[n][]", "6"])).toEqual({
      a: "1",
      b: { c: { d: "2", e: "3" } },
      l: ["4", "5"],
      m: { n: ["6"] },
    });
  });

  test("keeps dots, leaves spaces out, and makes [] within a name an empty key", () => {
    expect(body(["a.b c", "1"], ["d[ e ]", "2"], ["f[][g]", "3"])).toEqual({
      "a.bc": "1",
      d: { e: "2" },
      f: { "": { g: "3" } },
    });
  });

  test("lets a later value win, and refuses a value that is an array too", () => {
    expect(body(["a", "1"], ["a", "2"])).toEqual({ a: "2" });
    for (
      const names of [["a", "a[b]"], ["a[b]", "a"], ["a[]", "a[b]"], ["a", "a[]"], ["a[]", "a"], ["a[b]", "a[b][c]"]]
    ) {
      let error: unknown;
      try {
        body([names[0]!, "1"], [names[1]!, "2"]);
      } catch (thrown) {
        error = thrown;
      }
      expect(error).toMatchObject({ code: "FORM_MALFORMED", status: 400 });
    }
  });

  test("nests 127 deep and no deeper", () => {
    expect(JSON.stringify(body([`a${"[b]".repeat(126)}`, "1"])).split("{").length).toBe(128);
    for (const depth of [127, 100_000]) {
      expect(() => body([`a${"[b]".repeat(depth)}`, "1"])).toThrow("nested over 127 deep");
    }
  });

  test("writes text as UTF-8, every key as it is, and an empty form as an object", () => {
    expect(rrForm(fields(["__proto__", "\xc3\xa9"], ["2", "b"], ["1", "a"])).body).toBe(
      '{"__proto__":"é","2":"b","1":"a"}',
    );
    expect(rrForm([])).toEqual({ body: "{}", uploads: undefined });
  });

  test("makes a tree of the files, each with the last name of its path", () => {
    const file = { kind: "file", mime: "image/png", size: 3, error: 0, path: "/t/u" } as const;
    const { body, uploads } = rrForm([
      { ...file, name: "a[]", filename: "x/é.png".replace("é", "\xc3\xa9") },
      { ...file, name: "b", filename: "", mime: "", size: 0, error: 4, path: "" },
    ]);
    expect(body).toBe("{}");
    expect(JSON.parse(uploads!)).toEqual({
      a: [{ name: "é.png", mime: "image/png", size: 3, error: 0, tmpName: "/t/u" }],
      b: { name: "", mime: "", size: 0, error: 4, tmpName: "" },
    });
  });
});
