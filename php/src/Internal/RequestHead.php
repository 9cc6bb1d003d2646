<?php

declare(strict_types=1);

namespace Fairlead\Internal;

use RuntimeException;

/**
 * The head of a request, as PROTOCOL.md of Fairlead's native plugin tells it.
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
     * @return array{server: array<string, string|int|float>, id: string}
     * @throws RuntimeException for what is no head
     */
    public static function read(string $text): array
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
        $server['REQUEST_DEADLINE'] = $left === '' ? INF : $now + (int) $left / 1000;
        return ['server' => $server, 'id' => $id];
    }
}
