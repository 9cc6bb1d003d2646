<?php

declare(strict_types=1);

namespace Fairlead\Bulkhead\Store;

use Rasuvaeff\Bulkhead\Sleeper\SleeperInterface;
use Rasuvaeff\Duration\Duration;

/** Sleeps until the server has what its store did not get, and no longer than it should. */
final class SocketSleeper implements SleeperInterface
{
    public function __construct(private readonly ServerBulkheadStore $store)
    {
    }

    public function sleep(Duration $duration): void
    {
        $micros = $duration->toMicros();
        $until = hrtime(true) + $micros * 1000;
        if ($this->store->wait($micros / 1e6)) {
            return;
        }
        $left = $until - hrtime(true);
        if ($left > 0) {
            usleep(intdiv($left, 1000) + 1);
        }
    }
}
