<?php

declare(strict_types=1);

namespace Fairlead\Bulkhead;

use RuntimeException;

/** There is no permit. */
final class BulkheadFullException extends RuntimeException
{
    public function __construct(
        public readonly string $name,
        public readonly int $maxConcurrent,
        /** How long it waited: in the form that the lease was given in, seconds where that was a number. */
        public readonly int|float|object $waited = 0.0,
        /**
         * `full` there was to be no wait, `timeout` none came free in time, `queue_full` too many wait already, `deadlock` those who
         * hold it wait for what this process holds, `cancelled` the request has ended, `draining` the server ends.
         */
        public readonly string $reason = 'full',
        /** Seconds after which it may be worth to try again; 0 when nothing is known. */
        public readonly float $retryAfter = 0.0,
    ) {
        $what = [
            'timeout' => 'no permit came free in time',
            'queue_full' => 'too many wait already',
            'deadlock' => 'those who hold it wait for what this process holds; take bulkheads in one order everywhere',
            'cancelled' => 'the request has ended',
            'draining' => 'the server ends',
        ][$reason] ?? 'all its permits are out';
        parent::__construct("Cannot enter bulkhead $name (at most $maxConcurrent at once): $what");
    }
}
