<?php

declare(strict_types=1);

namespace Fairlead\Internal;

use InvalidArgumentException;

/**
 * A message for the server's log, as a LOG frame carries it.
 *
 * @internal
 */
final class LogLine
{
    private const LEVELS = ['debug' => 0, 'info' => 1, 'warn' => 2, 'error' => 3];
    /** Bytes of a message and its context that are sent. */
    private const MOST = 65536;
    private const JSON = JSON_INVALID_UTF8_SUBSTITUTE | JSON_PARTIAL_OUTPUT_ON_ERROR | JSON_UNESCAPED_SLASHES
        | JSON_UNESCAPED_UNICODE;

    /** @param array<int|string, mixed> $context */
    public static function write(string $level, string $message, array $context): string
    {
        $number = self::LEVELS[$level] ?? throw new InvalidArgumentException(
            'Expected a level of debug, info, warn or error, got ' . json_encode($level),
        );
        $json = $context === [] ? '' : (string) json_encode($context, self::JSON);
        $message = strtr(substr($message, 0, self::MOST), "\0", ' ');
        if (strlen($message) + strlen($json) > self::MOST) {
            $json = '{"context":"too large"}';
        }
        return chr($number) . $message . ($json === '' ? '' : "\0$json");
    }
}
