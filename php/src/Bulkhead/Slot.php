<?php

declare(strict_types=1);

namespace Fairlead\Bulkhead;

use Fairlead\Bulkhead\Internal\Answer;
use Fairlead\Bulkhead\Internal\Connection;

/**
 * Permits of a bulkhead that are held. They go back when it is released or nothing refers to it any more, and in any case at the end
 * of the request or the process.
 */
final class Slot
{
    private bool $released = false;

    /** @internal */
    public function __construct(
        public readonly string $name,
        public readonly int $weight,
        private readonly ?Connection $connection,
        private readonly int $number,
        private readonly Answer $grant,
    ) {
    }

    public function __destruct()
    {
        $this->release();
    }

    /** Gives the permits back; the second time nothing happens. Does not wait, and does not fail. */
    public function release(): void
    {
        if (!$this->released) {
            $this->released = true;
            $this->connection?->release($this->number);
        }
    }

    public function isReleased(): bool
    {
        return $this->released;
    }

    /**
     * The fencing token: greater than that of every earlier slot of this bulkhead. A resource that remembers the greatest it has
     * seen can refuse a holder that has lost its permits. 0 for a slot given while the server could not be reached.
     */
    public function fence(): int
    {
        return $this->grant->fence;
    }

    /** Whether the permits may be somebody else's by now: stop what you do with them. Does not wait. */
    public function isLost(): bool
    {
        return !$this->released && $this->connection !== null && $this->connection->isLost($this->number);
    }

    /** Seconds that were waited. */
    public function waited(): float
    {
        return $this->grant->waited;
    }

    /** How many stood before when this one came; 0 when it did not wait. */
    public function position(): int
    {
        return $this->grant->position;
    }
}
