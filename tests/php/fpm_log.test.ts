import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { fpmLineParser, lineSplitter } from "../../plugins/php/fpm_log.ts";

const at = "[29-Nov-2026 21:46:02]";
const parse = (...lines: string[]) => lines.map(fpmLineParser());

describe("fpmLineParser", () => {
  test("reads the master's words", () => {
    expect(parse(
      `${at} NOTICE: ready to handle connections`,
      `${at} ERROR: [pool www] cannot get uid for user 'nosuch'`,
      `${at} WARNING: [pool www] child 7, script '/a.php' (request: "GET /a.php") execution timed out (2.1 sec), terminating`,
      `[29-Nov-2026 21:46:02.123456] ALERT: oh: no`,
      "ERROR: Unable to set php_value 'foo'",
      "something else",
      "",
    )).toEqual([
      { kind: "log", level: "notice", message: "ready to handle connections" },
      { kind: "log", level: "error", message: "[pool www] cannot get uid for user 'nosuch'" },
      {
        kind: "log",
        level: "warning",
        message:
          `[pool www] child 7, script '/a.php' (request: "GET /a.php") execution timed out (2.1 sec), terminating`,
      },
      { kind: "log", level: "alert", message: "oh: no" },
      { kind: "log", level: "error", message: "ERROR: Unable to set php_value 'foo'" },
      { kind: "log", level: "notice", message: "something else" },
      undefined,
    ]);
  });

  test("reads how children come and go", () => {
    const message = (rest: string) => `exited ${rest} seconds from start`;
    expect(parse(
      `${at} NOTICE: [pool www] child 19335 started`,
      `${at} WARNING: [pool www] child 19331 exited on signal 9 (SIGKILL) after 1.782052 seconds from start`,
      `${at} WARNING: [pool a-b] child 5 exited on signal 11 (SIGSEGV - core dumped) after 0.5 seconds from start`,
      `${at} WARNING: [pool www] child 6 exited with code 255 after 12.000001 seconds from start`,
    )).toEqual([
      { kind: "child-started", pid: 19335 },
      {
        kind: "child-exited",
        pid: 19331,
        code: undefined,
        signal: "SIGKILL",
        afterS: 1.782052,
        message: message("on signal 9 (SIGKILL) after 1.782052"),
      },
      {
        kind: "child-exited",
        pid: 5,
        code: undefined,
        signal: "SIGSEGV",
        afterS: 0.5,
        message: message("on signal 11 (SIGSEGV - core dumped) after 0.5"),
      },
      {
        kind: "child-exited",
        pid: 6,
        code: 255,
        signal: undefined,
        afterS: 12.000001,
        message: message("with code 255 after 12.000001"),
      },
    ]);
  });

  test("tells PHP's errors, over their lines, from what a script wrote", () => {
    const said = (pid: number, text: string) => `${at} WARNING: [pool www] child ${pid} said into stderr: "${text}"`;
    const heard = parse(
      said(1, "NOTICE: PHP message: PHP Fatal error:  Uncaught Error in /x.php:1"),
      said(2, 'raw "quoted" line'),
      said(1, "Stack trace:"),
      said(1, "#0 {main}"),
      said(1, "  thrown in /x.php on line 1"),
      said(1, "words"),
      said(1, "#0 not PHP's"),
    );
    expect(heard.map((line) => line?.kind === "child-output" ? [line.pid, line.php, line.message] : line)).toEqual([
      [1, true, "PHP Fatal error:  Uncaught Error in /x.php:1"],
      [2, false, 'raw "quoted" line'],
      [1, true, "Stack trace:"],
      [1, true, "#0 {main}"],
      [1, true, "  thrown in /x.php on line 1"],
      [1, false, "words"],
      [1, false, "#0 not PHP's"],
    ]);
  });

  test("does not take a script's word for the master's", () => {
    const forged = `${at} WARNING: [pool www] child 9 exited on signal 9 (SIGKILL) after 1.0 seconds from start`;
    expect(parse(`${at} WARNING: [pool www] child 3 said into stderr: "${forged}"`))
      .toEqual([{ kind: "child-output", pid: 3, message: forged, php: false }]);
  });

  test("takes any line without failing", () => {
    const parser = fpmLineParser();
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
      parser(text);
      parser(`${at} WARNING: ${text}`);
      expect(parser(`${at} WARNING: [pool www] child 3 said into stderr: "${text}"`)?.kind).toBe("child-output");
    }));
  });
});

describe("lineSplitter", () => {
  test("gives the same lines however the bytes are cut", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "grapheme" }).map((s) => s.replaceAll("\n", ""))),
        fc.nat(9),
        (lines, size) => {
          const got: string[] = [];
          const feed = lineSplitter((line) => void got.push(line));
          const bytes = new TextEncoder().encode(
            lines.map((line) => `${line}\n`).join(""),
          );
          for (let from = 0; from < bytes.length; from += size + 1) feed(bytes.subarray(from, from + size + 1));
          expect(got).toEqual(lines);
        },
      ),
    );
  });

  test("does not keep an endless line", () => {
    const got: number[] = [];
    const feed = lineSplitter((line) => void got.push(line.length), 10);
    feed(new TextEncoder().encode("a".repeat(8)));
    feed(new TextEncoder().encode("a".repeat(8) + "b\nc\n"));
    expect(got).toEqual([17, 1]);
  });
});
