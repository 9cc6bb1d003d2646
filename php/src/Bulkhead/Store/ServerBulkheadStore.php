<?php

declare(strict_types=1);

namespace Fairlead\Bulkhead\Store;

use Fairlead\Bulkhead\BulkheadUnavailableException;
use Fairlead\Bulkhead\Internal\Answer;
use Fairlead\Bulkhead\Internal\Connection;
use Fairlead\Bulkhead\Internal\Frames;
use Fairlead\Bulkhead\Internal\Terms;
use Fairlead\Bulkhead\Internal\Time;
use InvalidArgumentException;
use Rasuvaeff\Bulkhead\BulkheadStore;
use Rasuvaeff\Duration\Duration;

/**
 * Keeps the permits of rasuvaeff/bulkhead in the server. Together with SocketSleeper its callers stand in the server's line, and
 * none of their code changes:
 *
 *     $store = new ServerBulkheadStore(maxWait: $maxWait);
 *     $bulkhead = new SharedBulkhead('legacy-api', 10, $store, $lease, $maxWait, sleeper: new SocketSleeper($store));
 *
 * They ask, sleep and ask again. The first sleep takes a place in line and lasts until the permits are there; what asks next has
 * them.
 */
class ServerBulkheadStore implements BulkheadStore
{
    private readonly int $waitMs;
    private readonly string $path;
    /** @var array{Connection, int}|null the last ask that found nothing free, once it waits: its connection and number */
    private ?array $ticket = null;
    /** When the server ends the wait, by hrtime(). */
    private float $ticketUntil = 0;
    /** @var array{non-empty-string, int, int}|null name, limit and lease of the last ask that found nothing free */
    private ?array $missed = null;
    /** @var array<non-empty-string, array{Connection, int}> what is held, by its token */
    private array $held = [];

    /**
     * @param Duration|int|float $maxWait that of the bulkheads that use it, the longest if they differ: so long a place in line is
     *   kept
     * @throws InvalidArgumentException
     */
    public function __construct(Duration|int|float $maxWait, ?string $socket = null)
    {
        $this->waitMs = Time::millis('a maxWait', $maxWait);
        $this->path = $socket ?? (string) getenv('FAIRLEAD_BULKHEAD_SOCKET');
    }

    /** @throws BulkheadUnavailableException */
    public function tryAcquire(string $name, int $maxConcurrent, Duration $lease): ?string
    {
        $ask = [Terms::checkName($name), Terms::checkLimit($maxConcurrent), Time::millis('a lease', $lease)];
        if ($this->ticket !== null && $this->missed === $ask) {
            [$connection, $number] = $this->ticket;
            // Once its time is over there is an answer: the caller may never come back.
            $late = hrtime(true) >= $this->ticketUntil;
            $answer = $late ? $connection->expect($number, 0) : $connection->await($number, 0);
            if ($answer === null) {
                return null;
            }
            $this->ticket = null;
            if ($answer->granted) {
                return $this->keep($connection, $number, $answer);
            }
        }
        $this->forget();
        $connection = $this->connection();
        $number = $connection->ask(Frames::terms($ask[0], $ask[1], 1, $ask[2], 0, null));
        $answer = $connection->expect($number, 0);
        if ($answer->granted) {
            return $this->keep($connection, $number, $answer);
        }
        if ($answer->reason === 'unavailable') {
            throw new BulkheadUnavailableException("Cannot enter bulkhead $name: {$answer->message}");
        }
        /** @var array{non-empty-string, int, int} $ask */
        $this->missed = $ask;
        return null;
    }

    public function release(string $name, string $token): void
    {
        if (isset($this->held[$token])) {
            [$connection, $number] = $this->held[$token];
            unset($this->held[$token]);
            $connection->release($number);
        }
    }

    /** @throws BulkheadUnavailableException */
    public function activeCount(string $name): int
    {
        return max(0, $this->connection()->counts([Terms::checkName($name)])[0]);
    }

    /**
     * Permits that are out of each, in one exchange with the server.
     *
     * @param list<non-empty-string> $names
     * @return array<int|non-empty-string, int<0, max>>
     * @throws BulkheadUnavailableException
     */
    public function activeCounts(array $names): array
    {
        $names = array_values(array_unique($names));
        $counts = [];
        foreach ($names === [] ? [] : $this->connection()->counts($names) as $at => $count) {
            $counts[$names[$at]] = max(0, $count);
        }
        return $counts;
    }

    /**
     * Waits in line for what the last tryAcquire() did not get: until it is there, or for so many seconds.
     *
     * @internal for SocketSleeper
     * @return bool whether it is worth to ask now; false when nothing is waited for
     */
    public function wait(float $seconds): bool
    {
        if ($this->missed === null) {
            return false;
        }
        if ($this->ticket === null) {
            [$name, $limit, $leaseMs] = $this->missed;
            $connection = $this->connection();
            $number = $connection->ask(Frames::terms($name, $limit, 1, $leaseMs, $this->waitMs, null));
            $this->ticket = [$connection, $number];
            $this->ticketUntil = hrtime(true) + $this->waitMs * 1e6;
        }
        [$connection, $number] = $this->ticket;
        return $connection->hasAnswer($number, $seconds);
    }

    public function __destruct()
    {
        $this->forget();
    }

    /** @return non-empty-string */
    private function keep(Connection $connection, int $number, Answer $grant): string
    {
        $this->missed = null;
        $token = "$number.{$grant->fence}";
        $this->held[$token] = [$connection, $number];
        return $token;
    }

    private function forget(): void
    {
        $this->missed = null;
        if ($this->ticket !== null) {
            [$connection, $number] = $this->ticket;
            $this->ticket = null;
            $connection->abandon($number);
        }
    }

    private function connection(): Connection
    {
        if ($this->path === '') {
            throw new BulkheadUnavailableException('Expected FAIRLEAD_BULKHEAD_SOCKET to name the socket of the bulkheads');
        }
        return Connection::to($this->path);
    }
}
