<?php

declare(strict_types=1);

namespace Fairlead;

use Fairlead\Internal\Connection;
use Fairlead\Internal\Names;
use RuntimeException;

/** One request. Its body has arrived whole. */
final class Request
{
    /** `GET`, `POST`... */
    public readonly string $method;
    /** The path as it stood in the request line, not decoded. */
    public readonly string $path;
    /** As in the header X-Request-Id and in the server's logs. */
    public readonly string $id;
    /** @var array<string, mixed> As PHP has it in $_SERVER */
    public readonly array $server;

    private readonly Connection $connection;
    private readonly string $number;
    /** @var array<string, mixed> */
    private readonly array $head;
    private readonly string $body;
    private bool $gone = false;

    /** @var array<int|string, mixed>|null */
    private ?array $query = null;
    /** @var array<int|string, mixed>|null */
    private ?array $post = null;
    /** @var array<int|string, mixed>|null */
    private ?array $files = null;
    /** @var array<int|string, mixed>|null */
    private ?array $cookies = null;

    /**
     * @internal
     * @param array<string, mixed> $head
     */
    public function __construct(array $head, string $body, Connection $connection)
    {
        /** @var array<string, mixed> $server */
        $server = $head['server'] ?? [];
        unset($head['server']);
        $this->server = $server;
        $this->head = $head;
        $this->body = $body;
        $this->connection = $connection;
        $this->number = $connection->number();
        $this->method = $this->text('REQUEST_METHOD');
        $this->path = strstr($target = $this->target(), '?', true) ?: $target;
        $id = $head['id'] ?? '';
        $this->id = is_string($id) ? $id : '';
    }

    /** The whole address, with scheme, host and query. */
    public function uri(): string
    {
        $host = $this->text('HTTP_HOST') ?: $this->text('SERVER_NAME');
        return ($this->text('REQUEST_SCHEME') ?: 'http') . "://$host" . $this->target();
    }

    /** @return array<int|string, mixed> As $_GET */
    public function query(): array
    {
        if ($this->query === null) {
            parse_str($this->text('QUERY_STRING'), $this->query);
        }
        return $this->query;
    }

    /** Whether the body is a form, which has been taken apart: see post() and files(). */
    public function isForm(): bool
    {
        return isset($this->head['post']);
    }

    /** @return array<int|string, mixed> The fields of a form, as $_POST; whatever the method */
    public function post(): array
    {
        /** @var list<array{string, string}> $fields */
        $fields = $this->head['post'] ?? [];
        return $this->post ??= Names::tree($fields);
    }

    /** @return array<int|string, mixed> The files of a form, by their names: an UploadedFile each, or arrays of them */
    public function files(): array
    {
        if ($this->files === null) {
            /** @var list<array{string, string, string, string, int, int}> $parts */
            $parts = $this->head['files'] ?? [];
            $pairs = [];
            foreach ($parts as [$field, $full, $type, $path, $error, $size]) {
                $slash = strrpos(strtr($full, '\\', '/'), '/');
                $name = $slash === false ? $full : substr($full, $slash + 1);
                $pairs[] = [$field, new UploadedFile($name, $full, $type, $size, $error, $path)];
            }
            $this->files = Names::tree($pairs);
        }
        return $this->files;
    }

    /** @return array<int|string, mixed> As $_COOKIE */
    public function cookies(): array
    {
        return $this->cookies ??= Names::cookies($this->text('HTTP_COOKIE'));
    }

    /** A header, its values joined; null when there is none. */
    public function header(string $name): ?string
    {
        $key = strtoupper(strtr($name, '-', '_'));
        if ($key === 'CONTENT_TYPE' || $key === 'CONTENT_LENGTH') {
            return $this->text($key) === '' ? null : $this->text($key);
        }
        $value = $this->server["HTTP_$key"] ?? null;
        return is_string($value) ? $value : null;
    }

    /** @return array<string, string> By their names, written as in `Content-Type` */
    public function headers(): array
    {
        $headers = [];
        foreach ($this->server as $key => $value) {
            if (is_string($value) && str_starts_with($key, 'HTTP_')) {
                $headers[self::headerName(substr($key, 5))] = $value;
            }
        }
        foreach (['CONTENT_TYPE', 'CONTENT_LENGTH'] as $key) {
            if ($this->text($key) !== '') {
                $headers[self::headerName($key)] = $this->text($key);
            }
        }
        return $headers;
    }

    /** The body as it came. Empty for a multipart form: see post() and files(). */
    public function body(): string
    {
        $path = $this->bodyFile();
        if ($path === null) {
            return $this->body;
        }
        $bytes = @file_get_contents($path);
        return $bytes !== false ? $bytes : throw new RuntimeException("Cannot read the request's body in $path");
    }

    /**
     * The body, for reading; a large one is in a file and stays there.
     *
     * @return resource
     */
    public function bodyStream()
    {
        $path = $this->bodyFile();
        $stream = @fopen($path ?? 'php://memory', $path === null ? 'w+b' : 'rb');
        if ($stream === false) {
            throw new RuntimeException("Cannot read the request's body in $path");
        }
        if ($path === null) {
            fwrite($stream, $this->body);
            rewind($stream);
        }
        return $stream;
    }

    /** When the response is due: Unix time in seconds. */
    public function deadline(): float
    {
        $deadline = $this->server['REQUEST_DEADLINE'] ?? INF;
        return is_numeric($deadline) ? (float) $deadline : INF;
    }

    /** Seconds left until the deadline; 0 when it has passed. */
    public function timeLeft(): float
    {
        return max(0.0, $this->deadline() - microtime(true));
    }

    /** Whether the client has left, so that nobody reads the response. Does not wait, and may be asked often. */
    public function clientGone(): bool
    {
        return $this->gone = $this->gone || $this->connection->clientGone($this->number);
    }

    private function bodyFile(): ?string
    {
        $path = $this->head['input'] ?? null;
        return is_string($path) ? $path : null;
    }

    private function target(): string
    {
        $target = $this->text('REQUEST_URI');
        // It may be whole: `GET http://example.org/a HTTP/1.1`.
        if ($target !== '' && $target[0] !== '/' && preg_match('~^[a-z][a-z0-9+.-]*://[^/?]*(.*)$~is', $target, $parts) === 1) {
            $target = $parts[1];
        }
        return $target === '' || $target[0] === '?' ? "/$target" : $target;
    }

    private function text(string $name): string
    {
        $value = $this->server[$name] ?? '';
        return is_string($value) ? $value : '';
    }

    private static function headerName(string $key): string
    {
        return strtr(ucwords(strtolower($key), '_'), '_', '-');
    }
}
