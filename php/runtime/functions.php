<?php

/**
 * FrankenPHP's functions.
 */

declare(strict_types=1);

use Fairlead\Runtime\Loop;
use Fairlead\Runtime\Reply;
use Fairlead\Runtime\Superglobals;

if (!function_exists('frankenphp_handle_request')) {
    define('FRANKENPHP_LOG_LEVEL_DEBUG', -4);
    define('FRANKENPHP_LOG_LEVEL_INFO', 0);
    define('FRANKENPHP_LOG_LEVEL_WARN', 4);
    define('FRANKENPHP_LOG_LEVEL_ERROR', 8);

    /**
     * Waits for a request and has it handled; false when there will be no more.
     *
     * @throws RuntimeException outside of a worker
     */
    function frankenphp_handle_request(callable $callback): bool
    {
        return Loop::handle($callback);
    }

    /** Sends the headers now: with a status of 1xx, those that are links, ahead of the response. */
    function headers_send(int $status = 200): int
    {
        if ($status >= 100 && $status < 200) {
            return Reply::early($status) ? 1 : 3;
        }
        if (Reply::$headSent || !Reply::isOpen()) {
            return 0;
        }
        http_response_code($status);
        Reply::flush();
        return 0;
    }

    /** Ends the response; the script goes on. */
    function frankenphp_finish_request(): bool
    {
        if (!Reply::isOpen()) {
            return false;
        }
        Reply::endBuffers();
        Reply::finish();
        return true;
    }

    /** @return array<string, string> */
    function frankenphp_request_headers(): array
    {
        return Superglobals::headers();
    }

    /** @return array<string, string> */
    function frankenphp_response_headers(): array|bool
    {
        $headers = [];
        foreach (headers_list() as $line) {
            $at = strpos($line, ':');
            if ($at !== false && ($name = rtrim(substr($line, 0, $at), " \t")) !== '') {
                $headers[$name] = ltrim(substr($line, $at + 1), " \t");
            }
        }
        return $headers;
    }

    /** @param array<string, mixed> $context */
    function frankenphp_log(string $message, int $level = 0, array $context = []): void
    {
        $ours = $level < 0 ? 0 : ($level < 4 ? 1 : ($level < 8 ? 2 : 3));
        $json = $context === [] ? '' : (string) json_encode(
            (object) $context,
            JSON_PARTIAL_OUTPUT_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE,
        );
        if (!Loop::log($ours, $message, $json)) {
            error_log($json === '' ? $message : "$message $json");
        }
    }
}

if (!function_exists('fastcgi_finish_request')) {
    function fastcgi_finish_request(): bool
    {
        return frankenphp_finish_request();
    }
}

if (!function_exists('mercure_publish')) {
    /** @param string|string[] $topics */
    function mercure_publish(
        string|array $topics,
        string $data = '',
        bool $private = false,
        ?string $id = null,
        ?string $type = null,
        ?int $retry = null,
    ): string {
        throw new RuntimeException('Cannot publish: Fairlead has no Mercure hub; send the update to a hub over HTTP');
    }
}
