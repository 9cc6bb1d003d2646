import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { type ForkLaunch, forkLaunch } from "../../../plugins/php/fork/launch.ts";
import { cgiCommand } from "../../../plugins/php/native/command.ts";
import { openDoor } from "../../../plugins/php/native/door.ts";
import type { Script } from "../../../plugins/php/resolve.ts";
import { waitFor, within } from "../../support/wait.ts";
import { exchangeOf } from "../support/exchange.ts";
import { phpCgi, stateOf } from "./support/farm.ts";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const runtime = here("../../../php/runtime/frankenphp.php");
const disabled = readFileSync(here("../../../php/runtime/disabled_functions.txt"), "utf8").trim().split("\n");

interface Answer {
  readonly text: string;
  readonly calls: readonly string[];
  readonly code: number | null;
}

async function withScript(
  work: (get: (target: string) => Promise<Answer>, forks: ForkLaunch, lines: readonly string[]) => Promise<void>,
  env: Record<string, string> = {},
): Promise<void> {
  const door = await openDoor({ software: "fairlead/test" });
  const lines: string[] = [];
  const problems: unknown[] = [];
  const path = here("support/frankenphp.php");
  const command = cgiCommand(phpCgi, runtime, path, {}, disabled);
  const forks = forkLaunch({
    door,
    process: { argv: command.argv, env: { PATH: process.env["PATH"] ?? "", ...command.env, ...env } },
    onLine: (line) => lines.push(line),
    onLog: (_level, text) => lines.push(text),
    onProblem: (error) => problems.push(error),
  });
  const script: Script = {
    kind: "script",
    scriptFilename: path,
    scriptName: "/index.php",
    pathInfo: "",
    documentUri: "/index.php",
    documentRoot: "/",
  };
  const get = (target: string) => {
    const x = exchangeOf(`GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`, { localPort: 80 });
    const answer = new Promise<Answer>((done) => {
      const calls: string[] = [];
      let text = "";
      const worker = forks.launch({
        onReady() {
          calls.push("ready");
          worker.send({
            x: Object.assign(x, { deadline: performance.now() + 10_000, id: "1" }),
            script,
            body: undefined,
          }, {
            onHead: () => calls.push("head"),
            onBody: () => calls.push("body"),
            onInformational: () => calls.push("informational"),
            onStdout: (bytes) => text += new TextDecoder("latin1").decode(bytes),
            onStderr: () => calls.push("stderr"),
            onEnd: () => calls.push("end"),
            onFail: (error) => calls.push(`fail ${error.message}`),
          });
        },
        onStopAsked: () => calls.push("stop asked"),
        onBroken: (error) => calls.push(`broken ${error.message}`),
        onLine: (line) => lines.push(line),
        onExit: ({ code }) => done({ text, calls, code }),
      });
    });
    return within(15_000, target, answer);
  };
  try {
    await work(get, forks, lines);
    expect(problems).toEqual([]);
  } finally {
    await within(10_000, "the end of the parent", forks.close());
    door.close();
  }
}

/** Page faults of a process' children that have ended. */
function faultsOfChildren(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[8]);
}

describe("a FrankenPHP script in forks", () => {
  test("is booted once, and starts each request from there", () =>
    withScript(async (get, forks) => {
      const pids = new Set<string>();
      for (let i = 0; i < 4; i++) {
        const { text, calls, code } = await get(`/hello?n=${i}`);
        expect(calls).toEqual(["ready", "stop asked", "end"]);
        expect(code).toBe(0);
        expect(text).toContain("Status: 201");
        expect(text).toContain(`X-N: ${i}`);
        const seen = JSON.parse(text.split("\r\n\r\n")[1] ?? "");
        expect(seen).toMatchObject({ n: String(i), count: 1, booted: forks.pid });
        pids.add(seen.pid);
      }
      expect(pids.size).toBe(4);
      for (const pid of pids) await waitFor(() => stateOf(Number(pid)) === undefined, { what: `the end of ${pid}` });
    }));

  test("may exit, or fail, in any request", () =>
    withScript(async (get) => {
      const exited = await get("/exit");
      expect(exited.text).toContain("bye");
      expect(exited.calls).toContain("end");
      // It was 3, which PHP does not tell. It was not 0.
      expect(exited.code).toBe(null);
      const failed = await get("/fail");
      expect(failed.text).toContain("Status: 500");
      expect(failed.calls).toContain("end");
      expect((await get("/hello?n=1")).text).toContain("X-N: 1");
    }));

  test("that breaks off in its answer ends with PHP's own exit code", () =>
    withScript(async (get) => {
      const { calls, code } = await get("/half");
      expect(calls).not.toContain("end");
      expect(code).toBe(255);
    }));

  test("has the files closed that a request leaves open", () =>
    withScript(async (get) => {
      const { text, code } = await get("/file");
      expect(code).toBe(0);
      expect(text).toContain("/php");
      expect(existsSync(text.split("\r\n\r\n")[1] ?? "/")).toBe(false);
    }));

  test("costs no more memory than a request needs, however much the boot has left", () =>
    withScript(async (get, forks) => {
      await get("/hello?n=1");
      const one = forks.pid;
      await waitFor(() => forks.ready === 1, { what: "a spare" });
      const before = faultsOfChildren(one);
      for (let i = 0; i < 10; i++) await get("/hello?n=1");
      // PHP's own end would write to every object: 40,000 of 56 bytes are on more than 500 pages.
      expect((faultsOfChildren(one) - before) / 10).toBeLessThan(300);
    }, { APP_OBJECTS: "40000" }));

  test("runs what comes behind the loop in each child, and leaves no process behind", () =>
    withScript(async (get, forks, lines) => {
      await get("/hello?n=1");
      await waitFor(() => lines.includes("behind the loop"), { what: "its last words" });
      const { pid } = forks;
      await forks.close();
      expect(stateOf(pid)).toBe(undefined);
    }));
});
