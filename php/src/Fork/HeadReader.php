<?php

declare(strict_types=1);

namespace Fairlead\Worker\Fork;

use RuntimeException;

/**
 * Reads what Fairlead has serialized, as unserialize() does: arrays of strings, numbers and arrays.
 *
 * For a forked child: unserialize() looks for the text of each key among all names that OPcache knows, in memory that a fork does
 * not map. That was a page fault for each header of the request.
 *
 * @internal
 */
final class HeadReader
{
    /**
     * @return array<string, mixed>
     * @throws RuntimeException for what is no array
     */
    public static function read(string $bytes): array
    {
        $at = 0;
        $value = self::value($bytes, $at);
        if (!is_array($value) || $at !== strlen($bytes)) {
            throw new RuntimeException('Expected the head of a request from Fairlead, received something else');
        }
        return $value;
    }

    private static function value(string $bytes, int &$at): mixed
    {
        $kind = substr($bytes, $at, 2);
        $end = strlen($kind) < 2 ? false : strpos($bytes, $kind === 's:' || $kind === 'a:' ? ':' : ';', $at + 2);
        if ($end === false) {
            throw new RuntimeException("Expected a serialized value from Fairlead at byte $at");
        }
        $number = substr($bytes, $at + 2, $end - $at - 2);
        if ($kind === 's:') {
            $at = $end + (int) $number + 4;
            return substr($bytes, $end + 2, (int) $number);
        }
        if ($kind === 'a:') {
            $at = $end + 2;
            $all = [];
            for ($left = (int) $number; $left > 0; $left--) {
                $key = self::value($bytes, $at);
                $all[$key] = self::value($bytes, $at);
            }
            $at++;
            return $all;
        }
        $at = $end + 1;
        return match ($kind) {
            'i:' => (int) $number,
            'd:' => match ($number) {
                'INF' => INF,
                '-INF' => -INF,
                'NAN' => NAN,
                default => (float) $number,
            },
            default => throw new RuntimeException("Expected a string, a number or an array from Fairlead, received $kind"),
        };
    }
}
