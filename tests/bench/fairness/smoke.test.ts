/**
 * The whole benchmark, small: that it starts servers, measures and judges. What it finds here says nothing about any server.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Report } from "../../../bench/fairness/report_types.ts";
import { allowSlowTests } from "../../support/wait.ts";

allowSlowTests(120_000);

const root = fileURLToPath(new URL("../../../", import.meta.url));

function bench(...args: string[]): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(join(root, "node_modules/.bin/bun"), ["bench/fairness/run.ts", ...args], { cwd: root });
  let out = "", err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => out += text);
  child.stderr.setEncoding("utf8").on("data", (text: string) => err += text);
  return new Promise((done, reject) => {
    child.on("error", reject);
    child.on("close", (code) => done({ code, out, err }));
  });
}

describe("the fairness benchmark", () => {
  const dir = mkdtempSync(join(tmpdir(), "fairness-smoke-"));
  const json = join(dir, "run.json");
  let result: Awaited<ReturnType<typeof bench>>;
  let report: Report;

  beforeAll(async () => {
    const closed =
      "--pages sleep2 --clients 20 --rounds 1 --seconds 0.5 --answers 600 --laps 5 --warmup 0 --prewarm 0.1";
    const open = "--open 2 --open-seconds 2 --open-children 2 --deadline 700 --grace 300";
    const calm = `--max-foreign 1 --patience 0 --retries 3 --json ${json} --svg ${join(dir, "waits.svg")}`;
    result = await bench(...`${closed} ${open} ${calm}`.split(" "));
    if (!existsSync(json)) throw new Error(`no report, exit code ${result.code}: ${result.err}`);
    report = JSON.parse(readFileSync(json, "utf8")) as Report;
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  test("believes itself: every answer was asked for, admitted and given by the server that was started", () => {
    expect([report.verdict.broken, result.err.includes("BROKEN")]).toEqual([[], false]);
    expect(result.code === 0 || result.code === 2).toBe(true);
    expect(report.samples.map(({ arm }) => arm)).toEqual(["fifo", "barge", "nginx"]);
    for (const sample of report.samples) {
      expect(sample.answers).toBeGreaterThanOrEqual(600);
      expect([sample.accounted > 0.99, sample.accounted <= 1.01]).toEqual([true, true]);
    }
  });

  test("nobody is overtaken in the fair queue, and the barging one misses gates", () => {
    const missed = (arm: string) =>
      report.samples.filter((sample) => sample.arm === arm).flatMap(({ gates }) => gates.filter(({ holds }) => !holds))
        .map(({ name }) => name);
    expect(missed("fifo")).not.toContain("overtakes");
    expect(missed("barge")).toContain("overtakes");
  });

  test("overload is refused by Fairlead, which starts nothing for clients that left", () => {
    const open = report.open.find(({ arm }) => arm === "fifo");
    expect([open?.failed, open?.wasted]).toEqual([0, 0]);
    expect(open!.good + open!.refused + open!.left).toBe(open!.sent);
  });

  test("prints a section and draws the waits", () => {
    for (const part of ["### sleep2", "### Open arrivals", "### Gates", "![", "waits.svg"]) {
      expect(result.out).toContain(part);
    }
    const svg = readFileSync(join(dir, "waits.svg"), "utf8");
    expect([svg.startsWith("<svg "), svg.includes("NaN"), svg.includes("undefined")]).toEqual([true, false, false]);
  });

  test("the report can be rendered again from the file", async () => {
    const child = spawn(join(root, "node_modules/.bin/bun"), ["bench/fairness/report.ts", json], { cwd: root });
    let out = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => out += text);
    await new Promise((done) => child.on("close", done));
    expect(out.replaceAll("\n", "")).toBe(result.out.replace(/!\[.*\)\n\n/, "").replaceAll("\n", ""));
  });

  test("what cannot be started ends it with 1", async () => {
    const { code, err } = await bench("--fairlead", dir, "--open", "");
    expect(code).toBe(1);
    expect(err).toContain("Cannot start");
  });
});
