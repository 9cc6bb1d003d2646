<?php

declare(strict_types=1);

namespace Fairlead\Bulkhead\Internal;

use DateInterval;
use DateTimeImmutable;
use InvalidArgumentException;

/**
 * Lengths of time in the forms that callers have them.
 *
 * @internal
 */
final class Time
{
    /** Milliseconds that fit into a frame. */
    private const LONGEST = 0xFFFFFFFE;

    /**
     * Whole milliseconds of so many seconds, of a DateInterval, or of an object with toMicros().
     *
     * @throws InvalidArgumentException
     */
    public static function millis(string $what, int|float|object $time): int
    {
        $ms = self::seconds($what, $time) * 1000;
        if (!($ms >= 0)) {
            throw new InvalidArgumentException("Expected $what of 0 or more seconds");
        }
        return (int) min(self::LONGEST, ceil($ms));
    }

    /** So many seconds in the form of the sample, so that callbacks get what their caller works with. */
    public static function like(int|float|object $sample, float $seconds): float|object
    {
        if (is_object($sample) && is_callable([$sample::class, 'micros'])) {
            /** @var object $time */
            $time = $sample::class::micros((int) round($seconds * 1e6));
            return $time;
        }
        return $seconds;
    }

    private static function seconds(string $what, int|float|object $time): float
    {
        if (!is_object($time)) {
            return (float) $time;
        }
        if ($time instanceof DateInterval) {
            $now = new DateTimeImmutable();
            $then = $now->add($time);
            return $then->getTimestamp() - $now->getTimestamp() + ((int) $then->format('u') - (int) $now->format('u')) / 1e6;
        }
        $micros = is_callable([$time, 'toMicros']) ? $time->toMicros() : null;
        if (!is_int($micros) && !is_float($micros)) {
            $got = $time::class;
            throw new InvalidArgumentException("Expected $what in seconds, or an object with toMicros(), got $got");
        }
        return $micros / 1e6;
    }
}
