// `npm test`: sets up, then checks, unit tests on both runtimes and end-to-end tests on Bun, Deno and the binary.
// Arguments name parts to run alone: check, bun, deno, e2e (and any test path for bun, deno and e2e).
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, relative } from "node:path";
import { bun, deno, npmPackages, root, run, systemPackages, testNeeds } from "./setup.mjs";

const parts = ["check", "bun", "deno", "e2e"];
const wanted = process.argv.slice(2).filter((a) => parts.includes(a));
const paths = process.argv.slice(2).filter((a) => !parts.includes(a));
const runs = (part) => wanted.length === 0 || wanted.includes(part);

/** What properties draw from: one seed, so that a run tells of the change and not of the draw. `npm run test:properties` draws more. */
const seed = process.env.TEST_SEED ?? "1";
const properties = ["--preload", "./tests/support/properties.ts"];

const total = { passed: 0, failed: 0, skipped: 0 };
/** What failed, as its runner names it: the last lines of a run may be all that is kept of it. */
const failures = [];

/** What tests make once and use again, each time they run a database; gone when this ends. */
const kept = mkdtempSync(join(tmpdir(), "fairlead-tests-"));
process.on("exit", () => rmSync(kept, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(1));

/** Where a part writes: `stdout` or `stderr`, and what. */
const straight = (stream, chunk) => void process[stream].write(chunk);

/**
 * Runs two rows of parts beside each other, where there is a core for each: one works while the other waits. They share no port and
 * no folder. The output of each row is shown as one.
 */
async function besides(first, second) {
  const inTurn = async (row, show) => {
    for (const part of row) await part(show);
  };
  if (availableParallelism() < 2) return await inTurn([...first, ...second], straight);
  const held = [];
  let write = (...said) => void held.push(said);
  const other = inTurn(second, (...said) => write(...said));
  await inTurn(first, straight);
  for (const said of held) straight(...said);
  write = straight;
  await other;
}

/** Runs a command with its output shown and kept. */
function capture(command, args, env = {}, show = straight) {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, TEST_KEPT: kept, TEST_SEED: seed, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of ["stdout", "stderr"]) {
      child[stream].on("data", (chunk) => {
        output += chunk;
        show(stream, chunk);
      });
    }
    child.on("close", (code) => resolve({ code, output }));
  });
}

/** Adds one runner's closing figures; a runner that failed without naming a test counts as one failure. */
function count(name, code, { passed = 0, failed = 0, skipped = 0 }, named = []) {
  const broken = code !== 0 && failed === 0 ? 1 : 0;
  const empty = code === 0 && passed === 0 ? 1 : 0;
  total.passed += passed;
  total.failed += failed + broken + empty;
  total.skipped += skipped;
  if (failed + broken + empty === 0) return;
  failures.push(empty ? `${name} (ran no test)` : name, ...[...new Set(named)].map((test) => `  ${test}`));
}

const number = (output, pattern) => Number(output.match(pattern)?.[1] ?? 0);

async function bunTests(name, args, env = {}, show = straight) {
  show("stdout", `\n== ${name}\n`);
  const all = ["test", "--timeout", "120000", ...properties, ...args];
  const { code, output } = await capture(bun, all, { NO_COLOR: "1", ...env }, show);
  count(name, code, {
    passed: number(output, /^\s*(\d+) pass$/m),
    failed: number(output, /^\s*(\d+) fail$/m),
    skipped: number(output, /^\s*(\d+) skip$/m),
  }, output.match(/^\(fail\) .*$/gm) ?? []);
}

/** Deno reports a `describe` as one test with steps: the steps are the tests. */
async function denoTests(name, args, show = straight) {
  show("stdout", `\n== ${name}\n`);
  const all = ["test", "-A", "--no-check", "--quiet", ...properties, ...args];
  const { code, output } = await capture(deno, all, { NO_COLOR: "1" }, show);
  const closing = output.match(/^\w+ \| .*$/gm)?.at(-1) ?? "";
  const figure = (word) => number(closing, new RegExp(`(\\d+) ${word}`));
  const steps = (word) => number(closing, new RegExp(`\\d+ ${word} \\((\\d+) steps?\\)`));
  count(name, code, {
    passed: steps("passed") || figure("passed"),
    failed: steps("failed") || figure("failed"),
    skipped: figure("ignored"),
  }, output.match(/^.* \.{3} .*FAILED .*$/gm) ?? []);
}

/**
 * The test files below the folders, for Deno: it starts anew for every file it is given, which takes longer than most of
 * ours run, so those that begin nothing for the whole file are imported by one. What they clear away in the end goes at its end.
 */
function forDeno(folders, without) {
  const hooks = /^(beforeAll|beforeEach|afterEach)\(/m;
  const files = folders.flatMap((folder) => testFiles(folder)).filter((file) =>
    !without.some((start) => file.startsWith(start))
  );
  const alone = files.filter((file) => hooks.test(readFileSync(join(root, file), "utf8")));
  const together = join("dist", "deno_tests.test.ts");
  mkdirSync(join(root, "dist"), { recursive: true });
  const imports = files.filter((file) => !alone.includes(file)).map((file) =>
    `import ${JSON.stringify(`../${file}`)};\n`
  );
  writeFileSync(join(root, together), imports.join(""));
  return [together, ...alone];
}

function testFiles(folder) {
  const entries = readdirSync(join(root, folder), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile() && entry.name.endsWith(".test.ts"))
    .map((entry) => relative(root, join(entry.parentPath ?? entry.path, entry.name))).sort();
}

npmPackages();
systemPackages(testNeeds);

/** Whatever folder of tests there is: one that was forgotten here would never run. */
const units = readdirSync(join(root, "tests")).filter((area) => !["bench", "e2e", "support"].includes(area))
  .map((area) => join("tests", area));
/** Tests that start hundreds of PHP processes: `npm run test:php` runs them. */
const long = "tests/php/fork/";

if (runs("check")) {
  console.log("== check");
  const { code, output } = await capture("node", ["scripts/check.mjs"]);
  count("check", code, { passed: output.match(/^ok /gm)?.length ?? 0, failed: output.match(/^FAIL /gm)?.length ?? 0 });
}
const files = (folder) =>
  readdirSync(join(root, folder)).filter((name) => name.endsWith(".test.ts")).map((name) => `./${folder}/${name}`);
const bunPart = (name, paths, env = {}) => (show) => bunTests(name, paths, env, show);
const hosts = process.env.FAIRLEAD_TEST_HOSTS ?? "bun,deno,binary";
const onBun = { FAIRLEAD_TEST_HOSTS: "bun" };

if (paths.length > 0) await named();
else {
  await unitsAndDatabases();
  if (runs("e2e")) await endToEnd();
}

/** What the command line names. */
async function named() {
  if (runs("bun")) await bunTests("unit tests on Bun", paths);
  if (runs("deno")) await denoTests("unit tests on Deno", paths);
  if (!runs("e2e")) return;
  built();
  await bunTests("end to end on Bun, Deno and the binary", paths, { FAIRLEAD_TEST_HOSTS: hosts });
}

async function unitsAndDatabases() {
  const rows = [[], []];
  if (runs("bun")) {
    // What the benches reckon with, and a short run of one that proves itself.
    const all = [...units, "tests/bench"].map((path) => `./${path}`);
    const second = all.filter((path) => ["core", "php", "site", "static"].some((area) => path === `./tests/${area}`));
    rows[0].push(bunPart("unit tests on Bun", all.filter((path) => !second.includes(path))));
    rows[1].push(
      bunPart("unit tests on Bun, of core and PHP", [`--path-ignore-patterns=**/${long}**`, ...second]),
    );
  }
  if (runs("deno")) {
    // What runs inside PHP, and what a server is asked about itself, is tested on one runtime; with paths, or by `npm run test:php`, on both.
    const inside = [
      "tests/php/frankenphp/",
      "tests/php/native/worker",
      "tests/php/native/psr.",
      "tests/php/bulkhead/",
      "tests/php/forms/php_differential.",
      "tests/dbproxy/sql/truth.",
      long,
    ];
    rows[1].push((show) => denoTests("unit tests on Deno", forDeno(units, inside), show));
  }
  if (runs("e2e")) {
    // Through the proxy, where one host is enough for most of them; `npm run test:db` runs them all, and directly too.
    const short = files("tests/e2e/db").filter((name) => !/\/(clients|faults|leak_battery)\.test/.test(name));
    rows[0].push(bunPart("databases through Bun", short, { ...onBun, FAIRLEAD_TEST_DIRECT: "0" }));
  }
  await besides(...rows);
}

function built() {
  console.log("\n== build");
  count("build", run("node", ["scripts/build.mjs"]), { passed: 1 });
}

async function endToEnd() {
  built();
  const all = files("tests/e2e");
  const chaos = all.filter((name) => /\/chaos/.test(name));
  const restarts = "./tests/e2e/restart.test.ts";
  const workers = "./tests/e2e/php/workers.test.ts";
  const everywhere = { FAIRLEAD_TEST_HOSTS: hosts };
  const compared = files("tests/e2e/php").filter((name) => name !== workers);
  // Where scripts take too long, and where process 1 looks on until it is sure.
  const waiting = compared.filter((name) => /\/(bulkhead|process_one)\.test/.test(name));
  await besides(
    [
      bunPart(
        "end to end on Bun, Deno and the binary",
        all.filter((name) => ![...chaos, restarts].includes(name)),
        everywhere,
      ),
      bunPart("workers that are waited for", waiting, onBun),
    ],
    [
      bunPart("workers on Bun, Deno and the binary", [workers], everywhere),
      // Waits for servers to come and go, more than it works.
      bunPart("restarts of Bun, Deno and the binary", [restarts], everywhere),
      bunPart("workers, compared with php-fpm", compared.filter((name) => !waiting.includes(name)), onBun),
      bunPart("frameworks, compared with php-fpm", ["./tests/e2e/php/long/frameworks.test.ts"], {
        ...onBun,
        FAIRLEAD_TEST_FRAMEWORKS: "Symfony,Laravel 12,Laravel Octane",
      }),
      bunPart(
        "databases through Deno and the binary",
        ["prepared", "insert_id"].map((name) => `./tests/e2e/db/${name}.test.ts`),
        { FAIRLEAD_TEST_HOSTS: "deno,binary", FAIRLEAD_TEST_DIRECT: "0" },
      ),
    ],
  );
  // The binary is Bun within: its chaos is that of Bun, and takes a minute. Alone: it counts what happens within a second.
  const lively = hosts.split(",").filter((host) => host !== "binary" || hosts === "binary").join(",");
  await bunTests("chaos on Bun and Deno", chaos, { FAIRLEAD_TEST_HOSTS: lively });
}

for (const name of failures) console.error(`failed: ${name}`);
console.log(`\n${total.passed} passed, ${total.failed} failed${total.skipped > 0 ? `, ${total.skipped} skipped` : ""}`);
process.exit(total.failed === 0 ? 0 : 1);
