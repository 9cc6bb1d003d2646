<?php

declare(strict_types=1);

namespace Fairlead\Bulkhead\Internal;

use Closure;
use Fairlead\Bulkhead\BulkheadFullException;
use Fairlead\Bulkhead\BulkheadUnavailableException;
use Fairlead\Bulkhead\Slot;
use InvalidArgumentException;

/**
 * How permits are asked for: what one bulkhead and a family of them have in common.
 *
 * @internal
 */
final class Terms
{
    /** The last name that passed; none is empty. */
    private static string $checked = '-';

    private readonly int $leaseMs;
    private readonly int $waitMs;
    private readonly string $path;
    /** What was asked last, which is mostly asked again, and what its frame says of that. @var array{string, int, int, int} */
    private array $last = ['', 0, 0, 0];
    private string $frame = '';

    /**
     * @param mixed $store none, so null: users of other libraries may have one
     * @param int|float|object $lease seconds, a DateInterval, or an object with toMicros()
     * @param int|float|object $maxWait as the lease
     * @throws InvalidArgumentException
     */
    public function __construct(
        mixed $store,
        private readonly int|float|object $lease,
        int|float|object $maxWait,
        private readonly ?Closure $onAccepted,
        private readonly ?Closure $onRejected,
        private readonly string $onUnavailable,
        private readonly ?int $maxQueue,
        ?string $socket,
    ) {
        if ($store !== null) {
            throw new InvalidArgumentException('Expected no store: the server keeps the permits');
        }
        $this->leaseMs = Time::millis('a lease', $lease);
        $this->waitMs = Time::millis('a maxWait', $maxWait);
        $this->path = $socket ?? (string) getenv('FAIRLEAD_BULKHEAD_SOCKET');
        if ($this->leaseMs === 0) {
            throw new InvalidArgumentException('Expected a lease of more than 0 seconds');
        }
        if ($onUnavailable !== 'open' && $onUnavailable !== 'closed') {
            throw new InvalidArgumentException("Expected onUnavailable to be open or closed, got $onUnavailable");
        }
        if ($maxQueue !== null && $maxQueue < 0) {
            throw new InvalidArgumentException("Expected maxQueue to be 0 or more, got $maxQueue");
        }
    }

    /**
     * @throws BulkheadFullException
     * @throws BulkheadUnavailableException
     */
    public function acquire(string $name, int $maxConcurrent, int $weight): Slot
    {
        $slot = $this->ask($name, $maxConcurrent, $weight, $this->waitMs);
        if ($slot instanceof Answer) {
            $waited = Time::like($this->lease, $slot->waited);
            throw new BulkheadFullException($name, $maxConcurrent, $waited, $slot->reason, $slot->retryAfter);
        }
        return $slot;
    }

    /** @throws BulkheadUnavailableException */
    public function tryAcquire(string $name, int $maxConcurrent, int $weight): ?Slot
    {
        $slot = $this->ask($name, $maxConcurrent, $weight, 0);
        return $slot instanceof Slot ? $slot : null;
    }

    /**
     * @template T
     * @param callable(): T $callback
     * @return T
     * @throws BulkheadFullException
     * @throws BulkheadUnavailableException
     */
    public function call(string $name, int $maxConcurrent, callable $callback, int $weight): mixed
    {
        $slot = $this->acquire($name, $maxConcurrent, $weight);
        try {
            return $callback();
        } finally {
            $slot->release();
        }
    }

    /**
     * @throws BulkheadUnavailableException
     */
    public function activeCount(string $name): int
    {
        return $this->connection()->counts([self::checkName($name)])[0];
    }

    /**
     * Permits that are free, of `$maxConcurrent`.
     *
     * @throws BulkheadUnavailableException
     */
    public function availableSlots(string $name, int $maxConcurrent): int
    {
        return max(0, self::checkLimit($maxConcurrent) - $this->activeCount($name));
    }

    /** @throws InvalidArgumentException */
    public static function checkName(string $name): string
    {
        if ($name === self::$checked) {
            return $name;
        }
        // As the server has them: a name, or a name and a key.
        if (strlen($name) > 255 || preg_match('/^[A-Za-z0-9_.:-]{1,128}(\/[A-Za-z0-9_.~-]+)?\z/', $name) !== 1) {
            $shown = json_encode(substr($name, 0, 60), JSON_INVALID_UTF8_SUBSTITUTE);
            throw new InvalidArgumentException("Expected a bulkhead's name of 1 to 128 of A-Z a-z 0-9 _ . : -, got $shown");
        }
        return self::$checked = $name;
    }

    /** @throws InvalidArgumentException */
    public static function checkLimit(int $maxConcurrent): int
    {
        if ($maxConcurrent < 1 || $maxConcurrent > 0xFFFFFFFE) {
            throw new InvalidArgumentException("Expected maxConcurrent to be at least 1, got $maxConcurrent");
        }
        return $maxConcurrent;
    }

    /** A slot, or why there is none. */
    private function ask(string $name, int $limit, int $weight, int $waitMs): Slot|Answer
    {
        if ($this->last !== [$name, $limit, $weight, $waitMs]) {
            self::checkName($name);
            self::checkLimit($limit);
            if ($weight < 1 || $weight > 0xFFFFFFFE) {
                throw new InvalidArgumentException("Expected a weight of at least 1, got $weight");
            }
            $this->frame = Frames::terms($name, $limit, $weight, $this->leaseMs, $waitMs, $this->maxQueue);
            $this->last = [$name, $limit, $weight, $waitMs];
        }
        try {
            $connection = $this->connection();
            $number = $connection->ask($this->frame);
            $answer = $connection->expect($number, $waitMs / 1000);
            if ($answer->reason === 'unavailable') {
                $why = $answer->message !== '' ? $answer->message : 'the server cannot reach what keeps the permits';
                throw new BulkheadUnavailableException("Cannot enter bulkhead $name: $why");
            }
        } catch (BulkheadUnavailableException $problem) {
            if ($this->onUnavailable === 'closed') {
                throw $problem;
            }
            $connection = null;
            $number = 0;
            $answer = new Answer(true, 0.0, 0, 0);
        }
        if (!$answer->granted) {
            if ($this->onRejected !== null) {
                ($this->onRejected)($name, Time::like($this->lease, $answer->waited));
            }
            return $answer;
        }
        $slot = new Slot($name, $weight, $connection, $number, $answer);
        if ($this->onAccepted !== null) {
            try {
                ($this->onAccepted)($name, Time::like($this->lease, $answer->waited));
            } catch (\Throwable $thrown) {
                $slot->release();
                throw $thrown;
            }
        }
        return $slot;
    }

    private function connection(): Connection
    {
        if ($this->path === '') {
            throw new BulkheadUnavailableException(
                'Expected FAIRLEAD_BULKHEAD_SOCKET to name the socket of the bulkheads: run under Fairlead, or give socket',
            );
        }
        return Connection::to($this->path);
    }
}
