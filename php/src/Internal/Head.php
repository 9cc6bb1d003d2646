<?php

declare(strict_types=1);

namespace Fairlead\Internal;

use InvalidArgumentException;

/**
 * The head of a response, as lines.
 *
 * @internal
 */
final class Head
{
    private const TOKEN = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    private static ?string $defaultType = null;
    /**
     * The head that was written last: most responses have the same one.
     *
     * @var array<int|string, mixed>
     */
    private static array $headers = [];
    private static int $status = 0;
    private static string $text = '';

    /**
     * @param array<int|string, string|int|float|array<string|int|float>> $headers
     * @throws InvalidArgumentException for what HTTP does not have
     */
    public static function write(int $status, array $headers, ?int $length = null): string
    {
        if ($status === self::$status && $length === null && $headers === self::$headers) {
            return self::$text;
        }
        if ($status < 200 || $status > 599) {
            throw new InvalidArgumentException("Expected a status of 200 to 599, got $status");
        }
        $lines = $status === 200 ? '' : "Status: $status\r\n";
        $typed = $status === 204 || $status === 304;
        $plain = $length === null;
        foreach ($headers as $name => $value) {
            $name = (string) $name;
            // The text of an object may change.
            $plain = $plain && is_scalar($value);
            $lines .= self::lines($name, $value);
            $typed = $typed || strcasecmp($name, 'Content-Type') === 0;
            if ($length !== null && strcasecmp($name, 'Content-Length') === 0) {
                $length = null;
            }
        }
        if (!$typed) {
            $lines .= self::$defaultType ??= self::defaultType();
        }
        if ($length !== null) {
            $lines .= "Content-Length: $length\r\n";
        }
        if ($plain) {
            self::$status = $status;
            self::$headers = $headers;
            self::$text = "$lines\r\n";
        }
        return "$lines\r\n";
    }

    /** @param array<int|string, string|int|float|array<string|int|float>> $headers */
    public static function early(array $headers): string
    {
        $lines = "Status: 103\r\n";
        foreach ($headers as $name => $value) {
            $lines .= self::lines((string) $name, $value);
        }
        return "$lines\r\n";
    }

    /** @param string|int|float|array<string|int|float> $values */
    private static function lines(string $name, string|int|float|array $values): string
    {
        if ($name === '' || strspn($name, self::TOKEN) !== strlen($name)) {
            throw new InvalidArgumentException('Expected the name of a header, got ' . json_encode($name));
        }
        if (strcasecmp($name, 'Status') === 0) {
            throw new InvalidArgumentException('Expected the status to be given apart, got a header Status');
        }
        $lines = '';
        foreach (is_array($values) ? $values : [$values] as $value) {
            $value = (string) $value;
            if (strpbrk($value, "\r\n\0") !== false) {
                throw new InvalidArgumentException("Expected a value of $name without CR, LF and NUL");
            }
            $lines .= "$name: $value\r\n";
        }
        return $lines;
    }

    /** What PHP itself sends without a word from the script. */
    private static function defaultType(): string
    {
        $type = (string) ini_get('default_mimetype');
        $charset = (string) ini_get('default_charset');
        if ($type === '') {
            return '';
        }
        return "Content-Type: $type" . ($charset !== '' && str_starts_with($type, 'text/') ? "; charset=$charset" : '') . "\r\n";
    }
}
