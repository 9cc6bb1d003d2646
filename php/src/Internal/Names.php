<?php

declare(strict_types=1);

namespace Fairlead\Internal;

/**
 * Puts names and values into arrays, by PHP's own rules for names such as `a[b][]`.
 *
 * @internal
 */
final class Names
{
    /**
     * @template T
     * @param list<array{string, T}> $pairs
     * @return array<int|string, mixed> with values of type T at its leaves
     */
    public static function tree(array $pairs): array
    {
        if ($pairs === []) {
            return [];
        }
        $separator = ((string) ini_get('arg_separator.input'))[0] ?? '&';
        $query = '';
        $values = [];
        foreach ($pairs as $i => [$name, $value]) {
            $query .= urlencode($name) . "=$i$separator";
            $values[] = $value;
        }
        parse_str($query, $tree);
        array_walk_recursive($tree, static function (mixed &$leaf) use ($values): void {
            $leaf = is_string($leaf) ? $values[(int) $leaf] : $leaf;
        });
        return $tree;
    }

    /** @return array<int|string, mixed> */
    public static function cookies(string $header): array
    {
        $pairs = [];
        $seen = [];
        foreach (explode(';', $header) as $cookie) {
            $parts = explode('=', ltrim($cookie, " \t\r\n\v\f"), 2);
            $name = $parts[0];
            // The most specific comes first.
            if ($name === '' || isset($seen[$name])) {
                continue;
            }
            if (!str_contains($name, '[')) {
                $seen[$name] = true;
            }
            $pairs[] = [$name, rawurldecode($parts[1] ?? '')];
        }
        return self::tree($pairs);
    }
}
