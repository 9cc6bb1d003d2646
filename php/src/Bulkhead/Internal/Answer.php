<?php

declare(strict_types=1);

namespace Fairlead\Bulkhead\Internal;

/**
 * What the server says to an ask. Times are seconds.
 *
 * @internal
 */
final class Answer
{
    public function __construct(
        public readonly bool $granted,
        public readonly float $waited,
        public readonly int $position,
        public readonly int $fence,
        /** Why not; empty for a grant. */
        public readonly string $reason = '',
        public readonly float $retryAfter = 0.0,
        public readonly string $message = '',
    ) {
    }
}
