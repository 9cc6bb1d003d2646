import { describe, expect, test } from "bun:test";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { cgiCommand, cliCommand, type Command } from "../../../plugins/php/native/command.ts";
import { findPhp } from "../../../plugins/php/native/find_php.ts";

function run({ argv: [program, ...args], env }: Command): string {
  return execFileSync(program, args, { env: { PATH: process.env["PATH"] ?? "", ...env } }).toString();
}

function inFolder(files: Readonly<Record<string, string>>, use: (dir: string) => void): void {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-command-"));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
    use(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

const settings = `<?php echo json_encode(array_map(ini_get(...), ['max_execution_time', 'display_errors', 'expose_php',
  'opcache.enable_cli', 'memory_limit', 'user_agent']) + ['sapi' => PHP_SAPI]);`;

describe("the command line", () => {
  test("runs a script with its settings, whatever is in them", async () => {
    const { path } = await findPhp("cli");
    inFolder({ "it's a worker.php": settings }, (dir) => {
      const script = join(dir, "it's a worker.php");
      const agent = `a;b"c'd=$e|{f} & !`;
      expect(JSON.parse(run(cliCommand(path, script, { memory_limit: "77M", user_agent: agent })))).toEqual({
        0: "0",
        1: "0",
        2: "0",
        3: "1",
        4: "77M",
        5: agent,
        sapi: "cli",
      });
      expect(JSON.parse(run(cliCommand(path, script, { display_errors: true, max_execution_time: 5 })))).toMatchObject({
        0: "5",
        1: "1",
      });
    });
    expect(() => cliCommand(path, "/x.php", { "a b": 1 })).toThrow("it is not the name of a PHP setting");
    expect(() => cliCommand(path, "/x.php", { a: "b\nc" })).toThrow("line break");
  });

  test("runs a script behind a runtime that takes the place of functions", async () => {
    const { path } = await findPhp("cgi");
    const runtime = "<?php function header(string $line): void { $GLOBALS['lines'][] = $line; }";
    const script =
      "<?php header('X-A: b'); echo json_encode([$lines, PHP_SAPI, function_exists('exec'), ini_get('max_execution_time'), " +
      "$_SERVER['SCRIPT_FILENAME'] === __FILE__]);";
    inFolder({ "runtime.php": runtime, "script.php": script }, (dir) => {
      const at = (name: string) => join(dir, name);
      const command = cgiCommand(path, at("runtime.php"), at("script.php"), { disable_functions: "exec" }, ["header"]);
      expect(JSON.parse(run(command).split("\r\n\r\n")[1]!)).toEqual([["X-A: b"], "cgi-fcgi", false, "0", true]);
    });
  });
});
