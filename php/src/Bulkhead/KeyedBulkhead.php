<?php

declare(strict_types=1);

namespace Fairlead\Bulkhead;

use Closure;
use Fairlead\Bulkhead\Internal\Terms;
use InvalidArgumentException;

/**
 * Bulkheads whose name and limit are chosen by the call: one for each tenant, or each host that is called.
 *
 *     $tenants = new KeyedBulkhead(maxWait: 0.5);
 *     $tenants->call(KeyedBulkhead::name('reports', $tenant), 2, fn () => $reports->build());
 */
final class KeyedBulkhead
{
    private readonly Terms $terms;

    /**
     * As Bulkhead, without name and limit.
     *
     * @param mixed $store
     * @param int|float|object $lease
     * @param int|float|object $maxWait
     * @param mixed $pollInterval
     * @param mixed $pollJitter
     * @param mixed $sleeper
     * @param null|Closure(string, mixed): void $onAccepted
     * @param null|Closure(string, mixed): void $onRejected
     * @throws InvalidArgumentException
     */
    public function __construct(
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
    }

    /**
     * The name of one key's share: any string is a key, and different keys have different names. The server's metrics count them
     * under the name before the key.
     *
     * @throws InvalidArgumentException
     */
    public static function name(string $name, string $key): string
    {
        $written = preg_replace_callback(
            '/[^A-Za-z0-9_.-]/',
            static fn (array $found): string => '~' . bin2hex($found[0]),
            $key,
        );
        if ($key === '' || str_contains($name, '/')) {
            throw new InvalidArgumentException('Expected a name without a key, and a key that is not empty');
        }
        return Terms::checkName("$name/$written");
    }

    /**
     * Calls while it holds permits of that bulkhead.
     *
     * @template T
     * @param callable(): T $callback
     * @return T
     * @throws BulkheadFullException
     * @throws BulkheadUnavailableException
     */
    public function call(string $name, int $maxConcurrent, callable $callback, int $weight = 1): mixed
    {
        return $this->terms->call($name, $maxConcurrent, $callback, $weight);
    }

    /**
     * @throws BulkheadFullException
     * @throws BulkheadUnavailableException
     */
    public function acquire(string $name, int $maxConcurrent, int $weight = 1): Slot
    {
        return $this->terms->acquire($name, $maxConcurrent, $weight);
    }

    /** @throws BulkheadUnavailableException */
    public function tryAcquire(string $name, int $maxConcurrent, int $weight = 1): ?Slot
    {
        return $this->terms->tryAcquire($name, $maxConcurrent, $weight);
    }

    /** @throws BulkheadUnavailableException */
    public function availableSlots(string $name, int $maxConcurrent): int
    {
        return $this->terms->availableSlots($name, $maxConcurrent);
    }

    /** @throws BulkheadUnavailableException */
    public function activeCount(string $name): int
    {
        return $this->terms->activeCount($name);
    }
}
