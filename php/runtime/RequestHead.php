<?php

declare(strict_types=1);

namespace Fairlead\Runtime;

use Fairlead\Worker\Fork\HeadReader;
use RuntimeException;

/**
 * The head of a request, as PROTOCOL.md of the native plugin tells it.
 *
 * @internal
 */
final class RequestHead
{
    /** The names that came last, as text and as a list: mostly the next ones are the same. */
    private static string $text = '';
    /** @var list<string> */
    private static array $names = [];

    /**
     * Of the payload of a REQUEST frame, with what stands beside the variables: a form, the file of a body.
     *
     * @param bool $forked whether this is for a forked child
     * @return array{array<string, mixed>, string} the head and the body
     * @throws RuntimeException for what is no head
     */
    public static function ofPayload(string $payload, bool $forked = false): array
    {
        $size = \unpack('V', $payload)[1];
        $end = 4 + $size;
        if (\strlen($payload) === $end) {
            return [self::read(\substr($payload, 4)), ''];
        }
        $head = self::read(\substr($payload, 4, $size));
        $size = \unpack('V', $payload, $end)[1];
        if ($size > 0) {
            $more = \substr($payload, $end + 4, $size);
            $head += $forked ? HeadReader::read($more) : (array) \unserialize($more, ['allowed_classes' => false]);
        }
        return [$head, \substr($payload, $end + 4 + $size)];
    }

    /**
     * @return array{server: array<string, string|int|float>, id: string}
     * @throws RuntimeException for what is no head
     */
    private static function read(string $text): array
    {
        $values = \explode("\0", $text);
        $names = (string) \array_pop($values);
        $left = \array_pop($values);
        $id = \array_pop($values);
        if ($names !== self::$text) {
            self::$names = \explode("\n", $names);
            self::$text = $names;
        }
        if ($id === null || \count($values) !== \count(self::$names)) {
            throw new RuntimeException('Expected the head of a request from Fairlead, received something else');
        }
        $server = \array_combine(self::$names, $values);
        $now = \microtime(true);
        $server['REQUEST_TIME'] = (int) $now;
        $server['REQUEST_TIME_FLOAT'] = $now;
        $server['REQUEST_DEADLINE'] = $left === '' ? \INF : $now + (int) $left / 1000;
        return ['server' => $server, 'id' => $id];
    }
}
