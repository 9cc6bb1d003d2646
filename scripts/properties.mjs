// `npm run test:properties [rounds]`: the tests that draw their cases, each round from another seed. Ends at the first that fails,
// with the seed that makes it fail again: `FAIRLEAD_SEED=N npm run test:properties 1`.
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { bun, npmPackages, root, run } from "./setup.mjs";

npmPackages();
const rounds = Number(process.argv[2] ?? 10);
if (!Number.isInteger(rounds) || rounds < 1) throw new Error("expected how many rounds, 1 or more: test:properties 10");

const folder = join(root, "tests");
const files = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith(".test.ts"))
  .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
  .filter((path) => readFileSync(path, "utf8").includes('from "fast-check"'))
  .map((path) => `./${relative(root, path)}`).sort();

for (let round = 1; round <= rounds; round++) {
  const seed = process.env.FAIRLEAD_SEED ?? String(Math.floor(Math.random() * 2 ** 31));
  console.log(`== round ${round} of ${rounds}, FAIRLEAD_SEED=${seed}`);
  const args = [
    "test",
    "--timeout",
    "120000",
    "--only-failures",
    "--preload",
    "./tests/support/properties.ts",
    ...files,
  ];
  if (run(bun, args, { env: { ...process.env, FAIRLEAD_SEED: seed } }) !== 0) process.exit(1);
}
