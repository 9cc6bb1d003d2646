<?php

declare(strict_types=1);

namespace Fairlead\Runtime;

use Throwable;

/**
 * An exception that a request did not catch: told as PHP tells it, but the process goes on.
 *
 * @internal
 */
final class Failure
{
    public const FATAL = \E_ERROR | \E_PARSE | \E_CORE_ERROR | \E_COMPILE_ERROR | \E_USER_ERROR | \E_RECOVERABLE_ERROR;

    public static function report(Throwable $e): void
    {
        $handler = \set_exception_handler(static function (): void {});
        \restore_exception_handler();
        if ($handler !== null) {
            try {
                $handler($e);
                return;
            } catch (Throwable $thrown) {
                $e = $thrown;
            }
        }
        if (!Reply::$headSent) {
            \http_response_code(500);
        }
        $message = "Uncaught $e\n  thrown";
        if (\ini_get('log_errors')) {
            \error_log("PHP Fatal error:  $message in {$e->getFile()} on line {$e->getLine()}");
        }
        self::show($message, $e->getFile(), $e->getLine());
    }

    private static function show(string $message, string $file, int $line): void
    {
        $where = \strtolower((string) \ini_get('display_errors'));
        if ($where === 'stderr') {
            \file_put_contents('php://stderr', "Fatal error: $message in $file on line $line\n");
            return;
        }
        if (!\in_array($where, ['1', 'on', 'yes', 'true', 'stdout'], true)) {
            return;
        }
        $before = (string) \ini_get('error_prepend_string');
        $after = (string) \ini_get('error_append_string');
        if (\ini_get('html_errors')) {
            $text = \htmlspecialchars($message, \ENT_COMPAT | \ENT_SUBSTITUTE);
            echo "$before\n<br />\n<b>Fatal error</b>:  $text in <b>$file</b> on line <b>$line</b><br />\n$after";
        } else {
            echo "$before\nFatal error: $message in $file on line $line\n$after";
        }
    }
}
