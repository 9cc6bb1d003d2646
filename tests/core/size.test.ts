import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";

/** What docs/architecture.md calls the core proper. */
const core = [
  ...["plugin", "exchange", "error"],
  "hooks",
  ...["sort_plugins", "services", "set_up", "app", "standard_schema"],
  ...["pipeline", "routes", "deadlines"],
  "server",
];

/** Lines that are neither empty nor comments alone. */
function codeLines(text: string): number {
  const code = text.replace(/\/\*[^]*?\*\//g, "").split("\n").map((line) => line.trim());
  return code.filter((line) => line !== "" && !line.startsWith("//")).length;
}

test("the core proper can be read at one sitting: under 1,000 lines of code", () => {
  const lines = core.map((name) => codeLines(readFileSync(new URL(`../../core/${name}.ts`, import.meta.url), "utf8")));
  expect(lines.reduce((sum, n) => sum + n, 0)).toBeLessThan(1000);
});
