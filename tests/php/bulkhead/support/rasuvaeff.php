<?php

// As much of rasuvaeff/bulkhead and rasuvaeff/duration as the adapters meet: shapes only, and a loop that polls as its users know it.

declare(strict_types=1);

namespace Rasuvaeff\Duration {
    final class Duration
    {
        private function __construct(private readonly int $us)
        {
        }
        public static function micros(int $us): self
        {
            return new self($us);
        }
        public static function millis(int $ms): self
        {
            return new self($ms * 1000);
        }
        public function toMicros(): int
        {
            return $this->us;
        }
    }
}

namespace Rasuvaeff\Bulkhead {
    use Rasuvaeff\Duration\Duration;

    interface BulkheadStore
    {
        /**
         * @param non-empty-string $name
         * @param positive-int $maxConcurrent
         * @return non-empty-string|null
         */
        public function tryAcquire(string $name, int $maxConcurrent, Duration $lease): ?string;
        /**
         * @param non-empty-string $name
         * @param non-empty-string $token
         */
        public function release(string $name, string $token): void;
        /**
         * @param non-empty-string $name
         * @return int<0, max>
         */
        public function activeCount(string $name): int;
    }

    interface BatchBulkheadStore extends BulkheadStore
    {
        /**
         * @param list<non-empty-string> $names
         * @return array<int|non-empty-string, int<0, max>>
         */
        public function activeCounts(array $names): array;
    }
}

namespace Rasuvaeff\Bulkhead\Sleeper {
    use Rasuvaeff\Duration\Duration;

    interface SleeperInterface
    {
        public function sleep(Duration $duration): void;
    }
}
