<?php

declare(strict_types=1);

namespace Fairlead\Runtime;

/**
 * Stands in for PHP's own php:// streams while a request has a body: php://input reads that body, all others go to PHP's.
 *
 * @internal
 */
final class PhpStream
{
    /** Of $options, when a file is included. */
    private const INCLUDED = 128;

    /** @var resource|null */
    public $context;
    /** @var resource|null */
    private $stream = null;
    private bool $isInput = false;
    /** Whether its end is where its bytes end. */
    private bool $isKept = false;

    public static function install(): void
    {
        \stream_wrapper_unregister('php');
        \stream_wrapper_register('php', self::class);
    }

    public static function remove(): void
    {
        @\stream_wrapper_restore('php');
    }

    public function stream_open(string $path, string $mode, int $options, ?string &$opened): bool
    {
        $name = \strtolower(\substr($path, 6));
        $included = ($options & self::INCLUDED) !== 0;
        if ($included && !self::mayBeIncluded($path)) {
            \trigger_error("$path: URL file-access is disabled in the server configuration", \E_USER_WARNING);
            return false;
        }
        self::remove();
        try {
            $this->isInput = $name === 'input';
            if ($this->isInput) {
                $stream = Input::stream();
            } else {
                if (\str_starts_with($name, 'filter/')) {
                    $file = \stripos($path, '/resource=php://input') === false ? null : Input::path();
                    $path = $file === null ? $path : \preg_replace('#/resource=php://input.*#is', "/resource=$file", $path);
                }
                $stream = $this->context === null
                    ? @\fopen((string) $path, $mode)
                    : @\fopen((string) $path, $mode, false, $this->context);
            }
        } finally {
            self::install();
        }
        if ($stream === false) {
            return false;
        }
        $this->stream = $stream;
        $this->isKept = $this->isInput || $name === 'memory' || \str_starts_with($name, 'temp');
        return true;
    }

    /** As with PHP's own: no code from a request, unless allow_url_include lets it. */
    private static function mayBeIncluded(string $path): bool
    {
        if (\ini_get('allow_url_include')) {
            return true;
        }
        $resource = \stristr($path, '/resource=');
        return \stripos($path, 'php://filter/') === 0 && $resource !== false
            && \preg_match('#^/resource=(?!file:|phar:|glob:|compress\.)[a-z0-9+.-]+:#i', $resource) !== 1;
    }

    public function stream_read(int $count): string|false
    {
        return \fread($this->stream, $count);
    }

    public function stream_write(string $data): int
    {
        return $this->isInput ? -1 : (int) \fwrite($this->stream, $data);
    }

    public function stream_eof(): bool
    {
        // PHP's own tell their end with the last byte, not after it.
        return \feof($this->stream) || ($this->isKept && \ftell($this->stream) >= (\fstat($this->stream)['size'] ?? 0));
    }

    public function stream_seek(int $offset, int $whence): bool
    {
        return \fseek($this->stream, $offset, $whence) === 0;
    }

    public function stream_tell(): int
    {
        return (int) \ftell($this->stream);
    }

    /** @return array<int|string, int>|false */
    public function stream_stat(): array|false
    {
        return \fstat($this->stream);
    }

    public function stream_flush(): bool
    {
        return \fflush($this->stream);
    }

    public function stream_truncate(int $size): bool
    {
        return !$this->isInput && \ftruncate($this->stream, $size);
    }

    public function stream_lock(int $operation): bool
    {
        return \flock($this->stream, $operation);
    }

    public function stream_set_option(int $option, int $a, ?int $b): bool
    {
        return match ($option) {
            \STREAM_OPTION_BLOCKING => \stream_set_blocking($this->stream, $a === 1),
            \STREAM_OPTION_READ_TIMEOUT => \stream_set_timeout($this->stream, $a, (int) $b),
            \STREAM_OPTION_WRITE_BUFFER => \stream_set_write_buffer($this->stream, $a === \STREAM_BUFFER_NONE ? 0 : (int) $b) === 0,
            default => false,
        };
    }

    /** @return resource */
    public function stream_cast(int $as)
    {
        return $this->stream;
    }

    public function stream_close(): void
    {
        \fclose($this->stream);
    }

    /** None of them has a name in a folder. */
    public function url_stat(string $path, int $flags): array|false
    {
        return false;
    }
}
