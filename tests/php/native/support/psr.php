<?php

// As much of PSR-3, PSR-7, PSR-15 and PSR-17 as the glue uses, and the smallest things that have it.

declare(strict_types=1);

namespace Psr\Log {
    interface LoggerInterface
    {
        public function log($level, string|\Stringable $message, array $context = []): void;
    }
    abstract class AbstractLogger implements LoggerInterface
    {
        public function warning(string|\Stringable $message, array $context = []): void
        {
            $this->log('warning', $message, $context);
        }
    }
    class InvalidArgumentException extends \InvalidArgumentException
    {
    }
}

namespace Psr\Http\Message {
    interface StreamInterface
    {
    }
    interface ServerRequestInterface
    {
    }
    interface ResponseInterface
    {
    }
    interface UploadedFileInterface
    {
    }
    interface ServerRequestFactoryInterface
    {
        public function createServerRequest(string $method, $uri, array $serverParams = []): ServerRequestInterface;
    }
    interface StreamFactoryInterface
    {
        public function createStream(string $content = ''): StreamInterface;
        public function createStreamFromFile(string $filename, string $mode = 'r'): StreamInterface;
        public function createStreamFromResource($resource): StreamInterface;
    }
    interface UploadedFileFactoryInterface
    {
        public function createUploadedFile(
            StreamInterface $stream,
            ?int $size = null,
            int $error = \UPLOAD_ERR_OK,
            ?string $clientFilename = null,
            ?string $clientMediaType = null,
        ): UploadedFileInterface;
    }
}

namespace Psr\Http\Server {
    use Psr\Http\Message\ResponseInterface;
    use Psr\Http\Message\ServerRequestInterface;

    interface RequestHandlerInterface
    {
        public function handle(ServerRequestInterface $request): ResponseInterface;
    }
}

namespace Small {
    use Psr\Http\Message;

    final class Stream implements Message\StreamInterface
    {
        public function __construct(private $resource, private bool $sized = true)
        {
        }
        public function __toString(): string
        {
            return stream_get_contents($this->resource, null, 0);
        }
        public function getSize(): ?int
        {
            return $this->sized ? fstat($this->resource)['size'] : null;
        }
        public function isSeekable(): bool
        {
            return $this->sized;
        }
        public function rewind(): void
        {
            rewind($this->resource);
        }
        public function eof(): bool
        {
            return feof($this->resource);
        }
        public function read(int $length): string
        {
            return fread($this->resource, $length);
        }
    }

    /** Keeps what `with...` is called with. */
    final class Request implements Message\ServerRequestInterface
    {
        public array $with = [];

        public function __construct(public string $method, public string $uri, public array $server)
        {
        }
        public function __call(string $name, array $arguments): static
        {
            $new = clone $this;
            $new->with[] = [$name, ...$arguments];
            return $new;
        }
        public function all(string $name): array
        {
            return array_values(array_filter($this->with, static fn (array $call) => $call[0] === $name));
        }
    }

    final class Response implements Message\ResponseInterface
    {
        public function __construct(private int $status, private array $headers, private Message\StreamInterface $body)
        {
        }
        public function getStatusCode(): int
        {
            return $this->status;
        }
        public function getHeaders(): array
        {
            return $this->headers;
        }
        public function getBody(): Message\StreamInterface
        {
            return $this->body;
        }
    }

    final class File implements Message\UploadedFileInterface
    {
        public function __construct(public array $all)
        {
        }
    }

    final class Factory implements
        Message\ServerRequestFactoryInterface,
        Message\StreamFactoryInterface,
        Message\UploadedFileFactoryInterface
    {
        public function createServerRequest(string $method, $uri, array $serverParams = []): Request
        {
            return new Request($method, $uri, $serverParams);
        }
        public function createStream(string $content = ''): Stream
        {
            $resource = fopen('php://memory', 'w+');
            fwrite($resource, $content);
            return new Stream($resource);
        }
        public function createStreamFromFile(string $filename, string $mode = 'r'): Stream
        {
            return new Stream(fopen($filename, $mode));
        }
        public function createStreamFromResource($resource): Stream
        {
            return new Stream($resource);
        }
        public function createUploadedFile(
            Message\StreamInterface $stream,
            ?int $size = null,
            int $error = \UPLOAD_ERR_OK,
            ?string $clientFilename = null,
            ?string $clientMediaType = null,
        ): File {
            return new File([(string) $stream, $size, $error, $clientFilename, $clientMediaType]);
        }
    }
}
