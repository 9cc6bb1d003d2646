<?php

declare(strict_types=1);

namespace Fairlead\Bulkhead;

use Closure;
use Fairlead\Bulkhead\Internal\Terms;
use InvalidArgumentException;

/**
 * A cap on how many do something at once, of all processes that use the same name. Permits are the server's: who waits stands in one
 * line, first come first served, and a permit is back as soon as its holder is gone, however it ended.
 *
 *     $bulkhead = new Bulkhead('legacy-api', maxConcurrent: 10, maxWait: 0.2);
 *     try {
 *         $report = $bulkhead->call(fn () => $api->report());
 *     } catch (BulkheadFullException) {
 *         $report = $cache->lastReport();
 *     }
 */
class Bulkhead
{
    private readonly Terms $terms;

    /**
     * Lengths of time are seconds, a DateInterval, or an object with toMicros().
     *
     * @param string $name 1 to 128 of `A-Z a-z 0-9 _ . : -`
     * @param int $maxConcurrent permits; where the server's configuration has a limit for the name, that one counts
     * @param mixed $store none, so null: the server keeps the permits
     * @param int|float|object $lease how long permits stay out for a holder that is heard of no more; only where the server
     *   cannot tell that it is gone
     * @param int|float|object $maxWait longest wait; 0: now or never
     * @param mixed $pollInterval ignored, as the next two: nothing is polled
     * @param mixed $pollJitter
     * @param mixed $sleeper
     * @param null|Closure(string, mixed): void $onAccepted is called with the name, and with how long it waited: in the form of the
     *   lease, in seconds where that is a number. What it throws gives the permit back
     * @param null|Closure(string, mixed): void $onRejected as above, when there is no permit
     * @param string $onUnavailable while the server cannot be reached: `closed` throws BulkheadUnavailableException, `open` lets
     *   everybody in
     * @param null|int $maxQueue most who wait; no bound when null
     * @param null|string $socket of the server; `FAIRLEAD_BULKHEAD_SOCKET` of the environment when null
     * @throws InvalidArgumentException
     */
    public function __construct(
        private readonly string $name,
        private readonly int $maxConcurrent,
        mixed $store = null,
        int|float|object $lease = 30,
        int|float|object $maxWait = 0,
        mixed $pollInterval = null,
        mixed $pollJitter = null,
        mixed $sleeper = null,
        ?Closure $onAccepted = null,
        ?Closure $onRejected = null,
        string $onUnavailable = 'closed',
        ?int $maxQueue = null,
        ?string $socket = null,
    ) {
        unset($pollInterval, $pollJitter, $sleeper);
        $this->terms = new Terms($store, $lease, $maxWait, $onAccepted, $onRejected, $onUnavailable, $maxQueue, $socket);
        Terms::checkName($name);
        Terms::checkLimit($maxConcurrent);
    }

    /**
     * Calls while it holds permits.
     *
     * @template T
     * @param callable(): T $callback
     * @return T
     * @throws BulkheadFullException
     * @throws BulkheadUnavailableException
     */
    public function call(callable $callback, int $weight = 1): mixed
    {
        return $this->terms->call($this->name, $this->maxConcurrent, $callback, $weight);
    }

    /**
     * Waits up to maxWait for permits. Keep the slot for as long as they are to be held.
     *
     * @throws BulkheadFullException
     * @throws BulkheadUnavailableException
     */
    public function acquire(int $weight = 1): Slot
    {
        return $this->terms->acquire($this->name, $this->maxConcurrent, $weight);
    }

    /**
     * Takes permits now; null when there are none, or others wait for them.
     *
     * @throws BulkheadUnavailableException
     */
    public function tryAcquire(int $weight = 1): ?Slot
    {
        return $this->terms->tryAcquire($this->name, $this->maxConcurrent, $weight);
    }

    /**
     * Permits that are free. Reading it changes nothing.
     *
     * @throws BulkheadUnavailableException
     */
    public function availableSlots(): int
    {
        return $this->terms->availableSlots($this->name, $this->maxConcurrent);
    }

    /**
     * Permits that are out. Reading it changes nothing.
     *
     * @throws BulkheadUnavailableException
     */
    public function activeCount(): int
    {
        return $this->terms->activeCount($this->name);
    }

    public function name(): string
    {
        return $this->name;
    }

    public function maxConcurrent(): int
    {
        return $this->maxConcurrent;
    }
}
