<?php

declare(strict_types=1);

namespace Fairlead\Runtime;

/**
 * Names and values, put into arrays by PHP's own rules for the names of variables.
 *
 * @internal
 */
final class Pairs
{
    private static int $most = 1000;
    private static string $separator = '&';

    public static function boot(): void
    {
        self::$most = (int) \ini_get('max_input_vars');
        // parse_str separates at any character of this setting.
        self::$separator = \substr((string) \ini_get('arg_separator.input'), 0, 1) ?: '&';
    }

    /**
     * As $_GET has it.
     *
     * @return array<mixed>
     */
    public static function ofQuery(string $query): array
    {
        // PHP would warn of what it leaves out, to an error handler of the script's.
        if (\substr_count($query, self::$separator) >= self::$most) {
            $query = \implode(self::$separator, \array_slice(\explode(self::$separator, $query), 0, self::$most));
            self::warn();
        }
        \parse_str($query, $array);
        return $array;
    }

    /**
     * Names and values as they are, decoded.
     *
     * @param list<array{string, mixed}> $pairs
     * @return array<mixed>
     */
    public static function ofList(array $pairs): array
    {
        if (\count($pairs) > self::$most) {
            $pairs = \array_slice($pairs, 0, self::$most);
            self::warn();
        }
        $array = [];
        foreach ($pairs as [$name, $value]) {
            if (!self::isPlain($name)) {
                return self::parse($pairs);
            }
            $array[$name] = $value;
        }
        return $array;
    }

    /**
     * As $_COOKIE has it: of a name that comes twice, the first is meant.
     *
     * @return array<mixed>
     */
    public static function ofCookies(string $header): array
    {
        $plain = true;
        $pairs = [];
        foreach (\explode(';', $header) as $pair) {
            $at = \strpos($pair, '=');
            $name = \ltrim($at === false ? $pair : \substr($pair, 0, $at), " \t\n\r\v\f");
            if ($name === '') {
                continue;
            }
            $value = $at === false ? '' : \rawurldecode(\substr($pair, $at + 1));
            $key = $name;
            if (!self::isPlain($name)) {
                $plain = false;
                if (\str_contains($name, '[')) {
                    $pairs[] = [$name, $value];
                    continue;
                }
                $key = \strtr($name, ' .', '__');
                // What the browser guards by its name must not come about by renaming.
                if ($key !== $name && \preg_match('/^__(Host|Secure)-/', $key) === 1) {
                    continue;
                }
            }
            $pairs["=$key"] ??= [$name, $value];
            if (\count($pairs) >= self::$most) {
                break;
            }
        }
        if (!$plain) {
            return self::parse(\array_values($pairs));
        }
        $array = [];
        foreach ($pairs as [$name, $value]) {
            $array[$name] = $value;
        }
        return $array;
    }

    private static function isPlain(string $name): bool
    {
        return $name !== '' && \strspn($name, 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-') === \strlen($name);
    }

    /**
     * PHP reads the names; in place of each value it reads its number.
     *
     * @param list<array{string, mixed}> $pairs
     * @return array<mixed>
     */
    private static function parse(array $pairs): array
    {
        $query = '';
        foreach ($pairs as $i => [$name]) {
            $query .= \rawurlencode($name) . "=$i" . self::$separator;
        }
        \parse_str(\substr($query, 0, -1), $array);
        \array_walk_recursive($array, static function (mixed &$value) use ($pairs): void {
            $value = $pairs[(int) $value][1];
        });
        return $array;
    }

    private static function warn(): void
    {
        \error_log('PHP Warning:  Input variables exceeded ' . self::$most
            . '. To increase the limit change max_input_vars in php.ini.');
    }
}
