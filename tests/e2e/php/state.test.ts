/**
 * What one visitor's request leaves behind for the next one's: nothing, but what a persistent process keeps by its nature; and
 * with `isolation = "fork"` nothing at all.
 *
 * @module
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { idle, makeSite, open, phpTable, type Site } from "../../support/php_apps/site.ts";
import { formType, multipart, Visitor } from "../../support/php_apps/visitor.ts";
import { hosts, type TestServer } from "../../support/server.ts";
import { allowSlowTests } from "../../support/wait.ts";

allowSlowTests(60_000);

interface Leak {
  readonly name: string;
  /** PHP statements of the first visitor's request. */
  readonly set: string;
  /** PHP expression of the next one's. */
  readonly look: string;
  /** Stays while the process lives, as it does in every server with persistent workers. */
  readonly kept?: true;
}

const leaks: readonly Leak[] = [
  { name: "a static variable", set: "counted(5);", look: "counted(0)", kept: true },
  { name: "a static property", set: "Kept::$value = 'ann';", look: "Kept::$value", kept: true },
  { name: "a global variable", set: "$GLOBALS['mine'] = 1;", look: "isset($GLOBALS['mine'])", kept: true },
  { name: "a constant", set: "define('MINE', 1);", look: "defined('MINE')", kept: true },
  {
    name: "a session",
    set: "session_start(); $_SESSION['user'] = 'ann';",
    look: "[session_status(), session_id(), isset($_SESSION)]",
  },
  {
    name: "a session left open, started again",
    set: "session_start(); $_SESSION['user'] = 'ann';",
    look: "[session_start(), $_SESSION]",
  },
  { name: "a session id that was chosen", set: "session_id('chosen');", look: "session_id()" },
  { name: "a session's name", set: "session_name('OTHER');", look: "session_name()" },
  {
    name: "a session's cookie settings",
    set: "session_set_cookie_params(['lifetime' => 99, 'secure' => true]); session_start();",
    look: "array_slice(session_get_cookie_params(), 0, 4)",
  },
  { name: "who has logged in", set: "", look: "[$_SERVER['PHP_AUTH_USER'] ?? null, $_SERVER['PHP_AUTH_PW'] ?? null]" },
  { name: "a locale", set: "setlocale(LC_ALL, 'C.UTF-8');", look: "setlocale(LC_ALL, '0')" },
  { name: "ini_set", set: "ini_set('precision', '3');", look: "[ini_get('precision'), (string) (10 / 3)]" },
  { name: "a memory limit", set: "ini_set('memory_limit', '1G');", look: "ini_get('memory_limit')" },
  { name: "display_errors", set: "ini_set('display_errors', '1');", look: "ini_get('display_errors')" },
  { name: "error_reporting", set: "error_reporting(0);", look: "error_reporting()" },
  { name: "an include path", set: "set_include_path('/elsewhere');", look: "get_include_path()" },
  { name: "putenv", set: "putenv('MINE=secret');", look: "[getenv('MINE'), $_ENV['MINE'] ?? null]" },
  {
    name: "a changed environment variable",
    set: "putenv('PATH=/evil'); putenv('HOME');",
    look: "[getenv('PATH'), getenv('HOME')]",
  },
  { name: "a time zone", set: "date_default_timezone_set('Asia/Tokyo');", look: "date_default_timezone_get()" },
  { name: "headers", set: "header('X-Leak: 1'); setcookie('leak', '1');", look: "headers_list()" },
  { name: "a status", set: "http_response_code(418);", look: "http_response_code()" },
  { name: "a status line", set: "header('HTTP/1.1 404 Gone Fishing');", look: "http_response_code()" },
  { name: "a content type", set: "header('Content-Type: image/png');", look: "headers_list()" },
  {
    name: "a header callback",
    set: "header_register_callback(static function (): void { header('X-Callback: 1'); });",
    look: "'see the headers'",
  },
  {
    name: "output buffers",
    set: "ob_start(strtoupper(...)); ob_start(strrev(...)); echo 'x';",
    look: "'lower case, ' . ob_get_level()",
  },
  { name: "a rewriter of links", set: "output_add_rewrite_var('sid', 'secret');", look: "'<a href=\"/x\">link</a>'" },
  { name: "what was printed", set: "echo 'secret';", look: "ob_get_contents()" },
  {
    name: "$_GET and $_REQUEST",
    set: "$_GET['mine'] = $_REQUEST['mine'] = 1;",
    look: "[$_GET['mine'] ?? null, $_REQUEST['mine'] ?? null]",
  },
  {
    name: "$_POST, $_COOKIE and $_SERVER",
    set: "$_POST['m'] = $_COOKIE['m'] = $_SERVER['M'] = 1;",
    look: "[$_POST, $_COOKIE, $_SERVER['M'] ?? null]",
  },
  { name: "php://input", set: "file_get_contents('php://input');", look: "file_get_contents('php://input')" },
  { name: "$_FILES", set: "", look: "[$_FILES, count(glob(ini_get('upload_tmp_dir') . '/php*') ?: [])]" },
  { name: "the last error", set: "@file_get_contents('/nowhere');", look: "error_get_last()" },
  {
    name: "an XML parser's errors",
    set:
      "if (function_exists('simplexml_load_string')) { libxml_use_internal_errors(true); simplexml_load_string('<a'); }",
    look: "function_exists('libxml_get_errors') ? count(libxml_get_errors()) : 0",
  },
  {
    name: "an encoding",
    set: "function_exists('mb_internal_encoding') && mb_internal_encoding('SJIS');",
    look: "function_exists('mb_internal_encoding') ? mb_internal_encoding() : ''",
  },
  {
    name: "a language's default",
    set: "class_exists('Locale') && Locale::setDefault('ja_JP');",
    look: "class_exists('Locale') ? Locale::getDefault() : ''",
  },
  {
    name: "an error handler",
    set: "set_error_handler(static fn () => true);",
    look: "set_error_handler(null) !== null",
    kept: true,
  },
  {
    name: "an exception handler",
    set: "set_exception_handler(static fn () => null);",
    look: "set_exception_handler(null) !== null",
    kept: true,
  },
  {
    name: "a class loader",
    set: "spl_autoload_register(static fn () => null);",
    look: "count(spl_autoload_functions())",
    kept: true,
  },
  { name: "a working folder", set: "chdir('/');", look: "getcwd() === '/'" },
  { name: "a umask", set: "umask(0);", look: "umask()" },
  { name: "a seed of chance", set: "mt_srand(42);", look: "mt_rand() === 1387371662" },
];

const php = `<?php
final class Kept { public static string $value = ''; }
function counted(int $by): int { static $count = 0; return $count += $by; }
// Once, so that two looks at a new process are alike.
if (function_exists('mb_internal_encoding')) mb_internal_encoding();
while (frankenphp_handle_request(static function (): void {
    $path = explode('?', $_SERVER['REQUEST_URI'])[0];
    switch ($path) {
${
  leaks.map(({ set, look }, at) =>
    `        case '/set/${at}': ${set} echo 'set'; break;
        case '/look/${at}': $seen = ${look}; echo json_encode($seen); break;`
  ).join("\n")
}
        case '/broken': echo 'half '; ob_start(); session_start(); header('X-Leak: 1'); putenv('MINE=1'); ini_set('precision', '2'); throw new LogicException('on the way');
        case '/clean': echo json_encode([headers_list(), getenv('MINE'), ini_get('precision'), session_status(), http_response_code()]); break;
        default: echo 'pid ', getmypid();
    }
}));
`;

for (const host of hosts()) {
  for (const isolation of ["none", "fork"] as const) {
    describe(`what stays on ${host} with isolation = "${isolation}"`, () => {
      let site: Site;
      let server: TestServer;
      beforeAll(async () => {
        site = makeSite();
        site.write("worker-franken.php", php);
        const door = isolation === "fork" ? "fork" : "frankenphp";
        server = await open({ host, site, php: phpTable(door, site, { concurrency: 1 }) });
      });
      afterAll(async () => {
        await server?.[Symbol.asyncDispose]();
        site?.remove();
      });

      for (const [at, { name, kept }] of leaks.entries()) {
        const stays = kept === true && isolation === "none";
        test(`${name} ${stays ? "stays" : "does not stay"}`, async () => {
          const look = async () => {
            const visitor = new Visitor(server.port);
            await visitor.go("GET", `/look/${at}`);
            const { status, headers, body } = visitor.seen[0]!;
            return JSON.stringify({
              status,
              headers: headers.filter((line) => !/^(content-length|set-cookie: PHPSESSID)/.test(line)),
              body,
            });
          };
          const before = await look();
          const form = multipart([{ name: "f", filename: "f.txt", data: "secret" }, { name: "user", data: "ann" }]);
          await new Visitor(server.port).go("POST", `/set/${at}?secret=1`, {
            headers: {
              ...form.headers,
              Authorization: "Basic YW5uOnNlY3JldA==",
              Cookie: "PHPSESSID=annssession; secret=1",
            },
            body: form.body,
          });
          const after = await look();
          if (stays) expect(after).not.toBe(before);
          else expect(after).toBe(before);
          expect(after).not.toContain("secret");
        });
      }

      test("a request that breaks half-way leaves nothing either", async () => {
        const visitor = new Visitor(server.port);
        await visitor.go("GET", "/clean");
        expect((await visitor.go("POST", "/broken", { headers: formType, body: "a=b" })).status).toBe(500);
        await visitor.go("GET", "/clean", { anonymous: true });
        expect(visitor.seen[2]).toEqual(visitor.seen[0] as never);
      });

      test(isolation === "none" ? "all that was one process" : "all that were processes of their own", async () => {
        const pids = new Set<string>();
        for (let i = 0; i < 5; i++) pids.add(await (await fetch(`${server.url}/pid`)).text());
        expect(pids.size).toBe(isolation === "none" ? 1 : 5);
        await idle(server);
      });
    });
  }
}
