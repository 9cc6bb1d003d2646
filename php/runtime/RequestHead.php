<?php

declare(strict_types=1);

namespace Fairlead\Runtime;

use Fairlead\Internal\RequestHead as Head;
use Fairlead\Worker\Fork\HeadReader;
use RuntimeException;

/**
 * The head and the body of a request, from the whole payload of its frame.
 *
 * @internal
 */
final class RequestHead
{
    /**
     * Of the payload of a REQUEST frame, with what stands beside the variables: a form, the file of a body.
     *
     * @param bool $forked whether this is for a forked child
     * @return array{array<string, mixed>, string} the head and the body
     * @throws RuntimeException for what is no head
     */
    public static function ofPayload(string $payload, bool $forked = false): array
    {
        $end = 4 + \unpack('V', $payload)[1];
        if (\strlen($payload) === $end) {
            return [Head::read(\substr($payload, 4)), ''];
        }
        $head = Head::read(\substr($payload, 4, $end - 4));
        $size = \unpack('V', $payload, $end)[1];
        if ($size > 0) {
            $more = \substr($payload, $end + 4, $size);
            $head += $forked ? HeadReader::read($more) : (array) \unserialize($more, ['allowed_classes' => false]);
        }
        return [$head, \substr($payload, $end + 4 + $size)];
    }
}
