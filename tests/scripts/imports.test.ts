import { describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

interface Imports {
  importsOf(text: string): readonly { readonly target: string; readonly kind: "value" | "type" | "call" }[];
  circles(sources: ReadonlyMap<string, string>): readonly (readonly string[])[];
}
interface Boundaries {
  brokenImports(folder?: string): readonly string[];
}
const script = (name: string) => import(new URL(`../../scripts/${name}`, import.meta.url).href);
const { importsOf, circles } = await script("imports.mjs") as Imports;
const { brokenImports } = await script("boundaries.mjs") as Boundaries;

const circlesOf = (sources: Readonly<Record<string, string>>) => circles(new Map(Object.entries(sources)));

describe("imports", () => {
  test("are found in every form, and told apart", () => {
    const text = `
import a from "./a.ts";
import { type B,
  b } from './b.ts';
import * as c from "./c.ts";
import "./d.ts";
import type { E } from "./e.ts";
export type { F } from "./f.ts";
export { g } from "./g.ts";
export * from "./h.ts";
const i = await import("./i.ts");
const j = await import(\`./\${name}.ts\`);
const sql = "select 1 from './k.ts'";
// import "./l.ts";
/* import "./m.ts"; */
`;
    const of = (wanted: string) => importsOf(text).filter(({ kind }) => kind === wanted).map(({ target }) => target);
    expect(of("value").toSorted()).toEqual(["a", "b", "c", "d", "g", "h"].map((name) => `./${name}.ts`));
    expect([of("type"), of("call")]).toEqual([["./e.ts", "./f.ts"], ["./i.ts"]]);
  });

  test("of values that come back are a circle, each file in its shortest", () => {
    const sources = {
      "x/start.ts": 'import "./a.ts";',
      "x/a.ts": 'import { long } from "./long.ts";\nimport { c } from "../y/b.ts";',
      "x/long.ts": 'export * from "../y/b.ts";',
      "y/b.ts": 'import { a } from "../x/a.ts";\nimport "node:fs";\nimport "./gone.ts";',
    };
    expect(circlesOf(sources)).toEqual([["x/a.ts", "y/b.ts"], ["x/long.ts", "y/b.ts", "x/a.ts"]]);
    expect(circlesOf({ "a.ts": 'import "./a.ts";' })).toEqual([["a.ts"]]);
  });

  test("of types, and those that wait until they are asked, close none", () => {
    const a = 'import { b } from "./b.ts";';
    expect(circlesOf({ "a.ts": a, "b.ts": 'import type { A } from "./a.ts";' })).toEqual([]);
    expect(circlesOf({ "a.ts": a, "b.ts": 'const a = () => import("./a.ts");' })).toEqual([]);
    expect(circlesOf({ "a.ts": a, "b.ts": 'import { type A } from "./a.ts";' })).toEqual([["a.ts", "b.ts"]]);
  });
});

describe("the borders", () => {
  test("are kept by this project", () => expect(brokenImports()).toEqual([]));

  test("are told, each with its file", () => {
    const folder = mkdtempSync(join(tmpdir(), "fairlead-borders-"));
    const files = {
      "package.json": JSON.stringify({
        dependencies: { zod: "1" },
        devDependencies: { mysql2: "1" },
        exports: { ".": "./mod.ts" },
      }),
      "core/a.ts": 'import "./b.ts";\nimport "zod";\nimport "node:fs";',
      "core/b.ts": 'import "./a.ts";',
      "core/far.ts": 'import type { P } from "../plugins/p/p.ts";\nimport "mysql2";\nimport "./b";',
      "plugins/p/p.ts": 'import "../../core/a.ts";\nimport "../q/q.ts";\nimport "../../cli/c.ts";',
      "plugins/q/q.ts": "",
      "cli/c.ts": "",
      "tests/t.ts": 'import "mysql2";',
      "bench/b.ts": "",
      "examples/e.ts": 'import "../mod.ts";\nimport "../core/a.ts";',
    };
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
    expect(brokenImports(folder)).toEqual([
      "core/far.ts: the core imports plugins/p/p.ts",
      'core/far.ts: imports "mysql2", which is neither node: nor a declared dependency',
      'core/far.ts: imports "./b" without its file extension',
      "plugins/p/p.ts: plugin p imports plugin q",
      "plugins/p/p.ts: plugin p imports cli/c.ts",
      "examples/e.ts: an example imports core/a.ts, which package.json does not export",
      "core/a.ts -> core/b.ts -> core/a.ts: a circle of imports",
    ]);
    rmSync(folder, { recursive: true });
  });
});
