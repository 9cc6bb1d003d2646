<?php

declare(strict_types=1);

namespace Fairlead\Psr;

use Fairlead\Worker;
use Psr\Log\AbstractLogger;
use Psr\Log\InvalidArgumentException;
use Throwable;

/** A PSR-3 logger that writes to the server's log. */
final class Logger extends AbstractLogger
{
    private const LEVELS = [
        'debug' => 'debug',
        'info' => 'info',
        'notice' => 'info',
        'warning' => 'warn',
        'error' => 'error',
        'critical' => 'error',
        'alert' => 'error',
        'emergency' => 'error',
    ];

    private readonly Worker $worker;

    public function __construct(?Worker $worker = null)
    {
        $this->worker = $worker ?? Worker::create();
    }

    /**
     * @param mixed $level
     * @param string|\Stringable $message
     * @param array<int|string, mixed> $context
     */
    public function log($level, $message, array $context = []): void
    {
        $known = is_string($level) ? self::LEVELS[$level] ?? null : null;
        if ($known === null) {
            throw new InvalidArgumentException('Expected a level of PSR-3, got ' . json_encode($level));
        }
        $replace = [];
        foreach ($context as $key => $value) {
            if ($value instanceof Throwable) {
                $context[$key] = (string) $value;
            } elseif ($value === null || is_scalar($value) || $value instanceof \Stringable) {
                $replace["{{$key}}"] = (string) $value;
            }
        }
        $this->worker->log($known, strtr((string) $message, $replace), $context);
    }
}
