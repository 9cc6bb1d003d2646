<?php

declare(strict_types=1);

namespace Fairlead;

use JsonException;

/** What a handler given to Worker::serve() answers. */
final class Response
{
    /**
     * @param array<int|string, string|int|float|array<string|int|float>> $headers
     * @param string|\Stringable|iterable<mixed, string|\Stringable>|resource $body as in Worker::respond()
     */
    public function __construct(
        public readonly int $status = 200,
        public readonly array $headers = [],
        public readonly mixed $body = '',
    ) {
    }

    /**
     * @param array<int|string, string|int|float|array<string|int|float>> $headers
     * @throws JsonException
     */
    public static function json(mixed $data, int $status = 200, array $headers = []): self
    {
        $flags = JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE;
        return new self($status, ['Content-Type' => 'application/json'] + $headers, json_encode($data, $flags));
    }
}
