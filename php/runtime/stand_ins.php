<?php

/**
 * Functions of PHP's own that mean the request php-cgi was started with, and here must mean the running one. They are
 * named in disabled_functions.txt: PHP lets disabled functions be declared anew.
 */

declare(strict_types=1);

use Fairlead\Runtime\Files;
use Fairlead\Runtime\Loop;
use Fairlead\Runtime\Reply;
use Fairlead\Runtime\Settings;
use Fairlead\Runtime\Superglobals;

if (!function_exists('flush')) {
    function flush(): void
    {
        // As in php-fpm it neither sends headers by themselves nor what is in a buffer.
        if (Reply::hasOutput()) {
            Reply::flush();
        }
    }
}

if (!function_exists('ob_implicit_flush')) {
    function ob_implicit_flush(bool $enable = true): void
    {
        Reply::$implicitFlush = $enable;
    }
}

if (!function_exists('ob_get_level')) {
    function ob_get_level(): int
    {
        return Reply::level();
    }
}

if (!function_exists('ob_get_clean')) {
    function ob_get_clean(): string|false
    {
        if (Reply::level() === 0) {
            return false;
        }
        $contents = ob_get_contents();
        ob_end_clean();
        return $contents;
    }
}

if (!function_exists('ob_get_flush')) {
    function ob_get_flush(): string|false
    {
        if (Reply::level() === 0) {
            return false;
        }
        $contents = ob_get_contents();
        ob_end_flush();
        return $contents;
    }
}

if (!function_exists('headers_sent')) {
    function headers_sent(mixed &$filename = null, mixed &$line = null): bool
    {
        $filename = '';
        $line = 0;
        return Reply::$headSent;
    }
}

if (!function_exists('header_register_callback')) {
    function header_register_callback(callable $callback): bool
    {
        Reply::$beforeHead = $callback;
        return true;
    }
}

if (!function_exists('getallheaders')) {
    /** @return array<string, string> */
    function getallheaders(): array
    {
        return Superglobals::headers();
    }
}

if (!function_exists('apache_request_headers')) {
    /** @return array<string, string> */
    function apache_request_headers(): array
    {
        return Superglobals::headers();
    }
}

if (!function_exists('apache_response_headers')) {
    /** @return array<string, string> */
    function apache_response_headers(): array|bool
    {
        return frankenphp_response_headers();
    }
}

if (!function_exists('connection_aborted')) {
    function connection_aborted(): int
    {
        return Loop::clientHasLeft() ? 1 : 0;
    }
}

if (!function_exists('connection_status')) {
    function connection_status(): int
    {
        return Loop::clientHasLeft() ? CONNECTION_ABORTED : CONNECTION_NORMAL;
    }
}

if (!function_exists('ini_set')) {
    function ini_set(string $option, string|int|float|bool|null $value): string|false
    {
        Settings::changing($option);
        return ini_alter($option, $value);
    }
}

if (!function_exists('is_uploaded_file')) {
    function is_uploaded_file(string $filename): bool
    {
        return Files::has($filename);
    }
}

if (!function_exists('move_uploaded_file')) {
    function move_uploaded_file(string $from, string $to): bool
    {
        return Files::move($from, $to);
    }
}

if (!function_exists('filter_input')) {
    /** @param array<string, mixed>|int $options */
    function filter_input(int $type, string $var_name, int $filter = FILTER_DEFAULT, array|int $options = 0): mixed
    {
        $came = $type === INPUT_ENV ? $_ENV : Superglobals::$came[$type] ?? [];
        if (array_key_exists($var_name, $came)) {
            return filter_var($came[$var_name], $filter, $options);
        }
        $flags = is_int($options) ? $options : (int) ($options['flags'] ?? 0);
        $default = is_array($options) ? $options['options'] ?? null : null;
        if (is_array($default) && array_key_exists('default', $default)) {
            return $default['default'];
        }
        return ($flags & FILTER_NULL_ON_FAILURE) !== 0 ? false : null;
    }
}

if (!function_exists('filter_input_array')) {
    /**
     * @param array<string, mixed>|int $options
     * @return array<string, mixed>|false|null
     */
    function filter_input_array(int $type, array|int $options = FILTER_DEFAULT, bool $add_empty = true): array|false|null
    {
        $came = $type === INPUT_ENV ? $_ENV : Superglobals::$came[$type] ?? [];
        return $came === [] ? null : filter_var_array($came, $options, $add_empty);
    }
}

if (!function_exists('filter_has_var')) {
    function filter_has_var(int $input_type, string $var_name): bool
    {
        return array_key_exists($var_name, $input_type === INPUT_ENV ? $_ENV : Superglobals::$came[$input_type] ?? []);
    }
}
