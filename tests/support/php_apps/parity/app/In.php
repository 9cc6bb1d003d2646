<?php

declare(strict_types=1);

namespace Parity;

/** A request, whatever brought it. */
final class In
{
    /**
     * @param array<string, mixed> $query
     * @param array<string, mixed> $post
     * @param array<string, mixed> $files a tree of ['name', 'mime', 'size', 'error', 'tmp']
     * @param array<string, mixed> $cookies
     * @param array<string, string> $headers by lower-case name
     */
    public function __construct(
        public readonly string $method,
        public readonly string $path,
        public readonly array $query,
        public readonly array $post,
        public readonly array $files,
        public readonly array $cookies,
        public readonly array $headers,
        public readonly string $body,
        public readonly Session $session,
    ) {
    }
}
