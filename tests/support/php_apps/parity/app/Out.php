<?php

declare(strict_types=1);

namespace Parity;

/** A response, whatever takes it. */
final class Out
{
    /** @var list<array{string, string}> */
    public array $headers = [];

    /** @param string|iterable<string> $body */
    public function __construct(
        public string|iterable $body,
        public int $status = 200,
        string $type = 'text/html; charset=UTF-8',
    ) {
        if ($type !== '') {
            $this->headers[] = ['Content-Type', $type];
        }
    }

    public static function json(mixed $value, int $status = 200): self
    {
        return new self(json_encode($value, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES), $status, 'application/json');
    }

    public static function redirect(string $to, int $status = 302): self
    {
        return (new self('', $status))->with('Location', $to);
    }

    public function with(string $name, string $value): self
    {
        $this->headers[] = [$name, $value];
        return $this;
    }
}
