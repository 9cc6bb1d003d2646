<?php

declare(strict_types=1);

namespace Fairlead\Internal;

use InvalidArgumentException;
use RuntimeException;

/**
 * The body of a response that comes in pieces.
 *
 * @internal
 */
final class Body
{
    /** Bytes of a stream that are read at once. */
    private const PIECE = 65536;

    /** @return iterable<mixed> */
    public static function pieces(mixed $body): iterable
    {
        if (is_iterable($body)) {
            return $body;
        }
        if (is_resource($body)) {
            return self::read($body);
        }
        throw new InvalidArgumentException(
            'Expected a string, an iterable or a resource as the body, got ' . get_debug_type($body),
        );
    }

    public static function text(mixed $piece): string
    {
        if (is_string($piece) || $piece instanceof \Stringable) {
            return (string) $piece;
        }
        throw new InvalidArgumentException('Expected pieces that are strings, got ' . get_debug_type($piece));
    }

    /**
     * @param resource $stream
     * @return iterable<string>
     */
    private static function read($stream): iterable
    {
        while (!feof($stream)) {
            $piece = fread($stream, self::PIECE);
            if ($piece === false) {
                throw new RuntimeException('Cannot read the body of the response');
            }
            if ($piece !== '') {
                yield $piece;
            }
        }
    }
}
