import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { Buffer } from "node:buffer";
import { CoreError } from "../../../core/error.ts";
import { frameBody } from "../../../plugins/php/goridge/body.ts";
import type { FormPart } from "../../../plugins/php/worker/body.ts";

function form(parts: readonly FormPart[], type: "urlencoded" | "multipart" = "urlencoded") {
  const body = frameBody("POST", { kind: "form", type, parts, raw: undefined, length: 0 });
  return { ...body, text: Buffer.from(body.source as Uint8Array).toString() };
}

/** The tree of `a=1&b[]=2`, in which nothing is encoded. */
function tree(text: string): unknown {
  const parts = text.split("&").map((pair): FormPart => {
    const [name = "", value = ""] = pair.split("=");
    return { kind: "field", name, value };
  });
  return JSON.parse(form(parts).text);
}

function code(text: string): string {
  try {
    tree(text);
  } catch (error) {
    return error instanceof CoreError ? `${error.code} ${error.status}` : String(error);
  }
  return "none";
}

describe("the tree of a form", () => {
  test("brackets nest and append", () => {
    expect(tree("a=1&b=2")).toEqual({ a: "1", b: "2" });
    expect(tree("a[]=1&a[]=2")).toEqual({ a: ["1", "2"] });
    expect(tree("a[b][]=1&a[b][]=2&a[c]=3")).toEqual({ a: { b: ["1", "2"], c: "3" } });
    expect(tree("a[][x]=1&a[][x]=2")).toEqual({ a: [{ x: "1" }, { x: "2" }] });
    expect(tree("a[5]=1&a[]=2&a[k]=3")).toEqual({ a: { 5: "1", 6: "2", k: "3" } });
    expect(tree("a[]=1&a[k]=2")).toEqual({ a: { 0: "1", k: "2" } });
  });

  test("the later value counts, spaces do not", () => {
    expect(tree("a=1&a=2")).toEqual({ a: "2" });
    expect(tree("a[k]=1&a[k]=2")).toEqual({ a: { k: "2" } });
    expect(tree("a b[ c ]=1")).toEqual({ ab: { c: "1" } });
  });

  test("the order is that of the form, whatever the keys", () => {
    const parts = ["z", "10", "2", "__proto__", "a"].map((name): FormPart => ({ kind: "field", name, value: name }));
    expect(form(parts).text).toBe('{"z":"z","10":"10","2":"2","__proto__":"__proto__","a":"a"}');
    expect(form([{ kind: "field", name: "l[1]", value: "b" }, { kind: "field", name: "l[0]", value: "a" }]).text)
      .toBe('{"l":{"1":"b","0":"a"}}');
  });

  test("a value where there is a list, or a list where there is a value, is refused", () => {
    for (const text of ["a=1&a[b]=2", "a[b]=1&a=2", "a[]=1&a=2", "a=1&a[]=2", "a[b]=1&a[b][c]=2"]) {
      expect(code(text)).toBe("FORM_NAMES_CLASH 400");
    }
  });

  test("too deep a name and an empty one are left out", () => {
    expect(tree(`a${"[b]".repeat(127)}=1&=2&[]=3&c=4`)).toEqual({ c: "4" });
    expect(code(`a${"[b]".repeat(126)}=1`)).toBe("none");
    expect(tree(`a${"[]".repeat(100_000)}=1`)).toEqual({});
  });

  test("no fields make an empty object, never an empty body", () => {
    expect(form([])).toMatchObject({ text: "{}", parsed: true, uploads: undefined, length: 2 });
  });

  test("bytes in UTF-8 become their text, others Latin-1", () => {
    expect(form([{ kind: "field", name: "n\xc3\xa9", value: "\xe9" }]).text).toBe('{"né":"é"}');
  });

  test("any names and values give JSON, or the one error", () => {
    const part = fc.record({
      kind: fc.constant("field" as const),
      name: fc.string({ unit: fc.constantFrom("a", "1", "[", "]", " ", "\xff", "0"), maxLength: 12 }),
      value: fc.string({ maxLength: 5 }),
    });
    fc.assert(fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
      try {
        expect(typeof JSON.parse(form(parts).text)).toBe("object");
      } catch (error) {
        expect((error as CoreError).code).toBe("FORM_NAMES_CLASH");
      }
    }));
  });
});

test("uploads are a tree of their own", () => {
  const file = (name: string, filename: string, error = 0): FormPart => ({
    kind: "file",
    name,
    filename,
    mime: "image/png",
    size: error === 0 ? 3 : 0,
    error,
    path: error === 0 ? `/tmp/up-${filename.length}` : "",
  });
  const parts: FormPart[] = [file("doc[main]", "C:\\x\\a.png"), { kind: "field", name: "t", value: "v" }];
  const { text, uploads, parsed } = form([...parts, file("files[]", "b"), file("files[]", "", 4)], "multipart");
  expect([text, parsed]).toEqual(['{"t":"v"}', true]);
  expect(JSON.parse(uploads!)).toEqual({
    doc: { main: { name: "a.png", mime: "image/png", size: 3, error: 0, tmpName: "/tmp/up-10" } },
    files: [
      { name: "b", mime: "image/png", size: 3, error: 0, tmpName: "/tmp/up-1" },
      { name: "", mime: "image/png", size: 0, error: 4, tmpName: "" },
    ],
  });
});

test("other bodies are left as they are, and some methods have none", () => {
  const bytes = new Uint8Array([1, 2, 3]);
  expect(frameBody("PUT", { kind: "bytes", bytes })).toEqual({
    source: bytes,
    length: 3,
    parsed: false,
    uploads: undefined,
  });
  expect(frameBody("PUT", { kind: "file", path: "/tmp/x", length: 9 }).length).toBe(9);
  for (const method of ["HEAD", "OPTIONS"]) expect(frameBody(method, { kind: "bytes", bytes }).length).toBe(0);
  expect(frameBody("GET", undefined)).toMatchObject({ length: 0, parsed: false });
});
