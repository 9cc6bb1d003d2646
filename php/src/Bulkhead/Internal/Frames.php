<?php

declare(strict_types=1);

namespace Fairlead\Bulkhead\Internal;

use InvalidArgumentException;

/**
 * Frames as bytes, as PROTOCOL.md beside the server tells them.
 *
 * @internal
 */
final class Frames
{
    public const RELEASE = 3;
    public const CANCEL = 4;
    public const WELCOME = 65;
    public const LOST = 69;
    public const FAULT = 70;
    public const HEADER = 8;
    /** Payload that the server sends at most. */
    public const LONGEST = 600;
    public const GREETING = "FLBH\1";
    /** The greatest number of an ask; as a number of waiters: no bound. */
    public const NONE = 0xFFFFFFFF;

    private const HELLO = 1;
    private const ACQUIRE = 2;
    private const COUNTS = 5;
    private const GRANT = 66;
    private const DENY = 67;
    private const COUNTED = 68;
    /** How the frame of a GRANT begins, up to its number, and its length. */
    private const GRANTED = "\x14\0\x42\0";
    private const GRANT_LENGTH = 28;
    /** By their numbers on the wire, from 1 on. */
    private const REASONS = ['full', 'queue_full', 'timeout', 'cancelled', 'deadlock', 'draining', 'unavailable'];

    /** @param bool $scoped whether the connection ends with the execution that opened it */
    public static function hello(bool $scoped): string
    {
        return pack('vCCV', 6, self::HELLO, 0, 0) . self::GREETING . ($scoped ? "\1" : "\0");
    }

    /** What an ACQUIRE says behind its header. */
    public static function terms(string $name, int $limit, int $weight, int $leaseMs, int $waitMs, ?int $maxQueue): string
    {
        return pack('V6', $weight, $limit, $leaseMs, $waitMs, $maxQueue ?? self::NONE, 1) . $name;
    }

    public static function acquire(int $number, string $terms): string
    {
        return pack('vvV', strlen($terms), self::ACQUIRE, $number) . $terms;
    }

    public static function counts(int $number, string $name): string
    {
        return pack('vvV', strlen($name), self::COUNTS, $number) . $name;
    }

    public static function bare(int $type, int $number): string
    {
        return pack('vvV', 0, $type, $number);
    }

    /** The grant of this number, where these bytes are that and nothing else. */
    public static function onlyGrant(string $bytes, int $number): ?Answer
    {
        if (strlen($bytes) !== self::GRANT_LENGTH || !str_starts_with($bytes, self::GRANTED)) {
            return null;
        }
        /** @var array{n: int, f: int, w: float, p: int} $grant */
        $grant = unpack('Vn/Pf/ew/Vp', $bytes, 4);
        return $grant['n'] === $number ? new Answer(true, $grant['w'] / 1000, $grant['p'], $grant['f']) : null;
    }

    /**
     * An answer to an ask: of an ACQUIRE, or limit and active of a COUNTS, or what was wrong with it. Null when it is none.
     *
     * @return Answer|array{int, int}|InvalidArgumentException|null
     */
    public static function answer(int $type, string $payload): Answer|array|InvalidArgumentException|null
    {
        if ($type === self::GRANT && strlen($payload) === 20) {
            /** @var array{fence: int, waited: float, position: int} $grant */
            $grant = unpack('Pfence/ewaited/Vposition', $payload);
            return new Answer(true, $grant['waited'] / 1000, $grant['position'], $grant['fence']);
        }
        if ($type === self::DENY && strlen($payload) === 13) {
            /** @var array{reason: int, waited: float, after: int} $denial */
            $denial = unpack('Creason/ewaited/Vafter', $payload);
            $reason = self::REASONS[$denial['reason'] - 1] ?? 'unavailable';
            return new Answer(false, $denial['waited'] / 1000, 0, 0, $reason, $denial['after'] / 1000);
        }
        if ($type === self::COUNTED && strlen($payload) === 25) {
            /** @var array{limit: int, active: int} $counts */
            $counts = unpack('Cknown/Vlimit/Vactive', $payload);
            return [$counts['limit'], $counts['active']];
        }
        if ($type === self::FAULT) {
            [$code, $message] = explode("\0", $payload, 2) + ['', ''];
            $wrong = ['BULKHEAD_NAME', 'BULKHEAD_LIMIT', 'BULKHEAD_WEIGHT', 'BULKHEAD_TIME', 'BULKHEAD_KEY'];
            return in_array($code, $wrong, true)
                ? new InvalidArgumentException($message)
                : new Answer(false, 0.0, 0, 0, 'unavailable', 0.0, $message);
        }
        return null;
    }
}
