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
    /** A body that is no file; then there is no stream, and this is how much of it has been read. */
    private ?string $bytes = null;
    private int $at = 0;
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
        $this->isInput = $name === 'input';
        $this->isKept = $this->isInput || $name === 'memory' || \str_starts_with($name, 'temp');
        if ($this->isInput) {
            $this->bytes = Input::bytes();
        }
        $stream = $this->bytes !== null ? null : ($this->isInput ? Input::file() : $this->openOther($path, $mode));
        if ($stream === false) {
            return false;
        }
        $this->stream = $stream;
        return true;
    }

    /** @return resource|false */
    private function openOther(string $path, string $mode)
    {
        if (\preg_match('#^php://filter/.*/resource=php://input$#is', $path) === 1 && ($file = Input::path()) !== null) {
            $path = \substr($path, 0, -\strlen('php://input')) . $file;
        }
        self::remove();
        try {
            return $this->context === null ? @\fopen($path, $mode) : @\fopen($path, $mode, false, $this->context);
        } finally {
            self::install();
        }
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
        if ($this->bytes === null) {
            return \fread($this->stream, $count);
        }
        $part = \substr($this->bytes, $this->at, $count);
        $this->at += \strlen($part);
        return $part;
    }

    public function stream_write(string $data): int
    {
        return $this->isInput ? -1 : (int) \fwrite($this->stream, $data);
    }

    public function stream_eof(): bool
    {
        if ($this->bytes !== null) {
            return $this->at >= \strlen($this->bytes);
        }
        // PHP's own tell their end with the last byte, not after it.
        return \feof($this->stream) || ($this->isKept && \ftell($this->stream) >= (\fstat($this->stream)['size'] ?? 0));
    }

    public function stream_seek(int $offset, int $whence): bool
    {
        if ($this->bytes === null) {
            return \fseek($this->stream, $offset, $whence) === 0;
        }
        $end = \strlen($this->bytes);
        $to = $offset + ($whence === \SEEK_END ? $end : ($whence === \SEEK_CUR ? $this->at : 0));
        if ($to < 0 || $to > $end) {
            return false;
        }
        $this->at = $to;
        return true;
    }

    public function stream_tell(): int
    {
        return $this->bytes === null ? (int) \ftell($this->stream) : $this->at;
    }

    /** @return array<int|string, int>|false */
    public function stream_stat(): array|false
    {
        return $this->bytes === null ? \fstat($this->stream) : ['size' => \strlen($this->bytes)];
    }

    public function stream_flush(): bool
    {
        return $this->isInput || \fflush($this->stream);
    }

    public function stream_truncate(int $size): bool
    {
        return !$this->isInput && \ftruncate($this->stream, $size);
    }

    public function stream_lock(int $operation): bool
    {
        return $this->bytes === null && $operation !== 0 && \flock($this->stream, $operation);
    }

    public function stream_set_option(int $option, int $a, ?int $b): bool
    {
        if ($this->bytes !== null) {
            return false;
        }
        return match ($option) {
            \STREAM_OPTION_BLOCKING => \stream_set_blocking($this->stream, $a === 1),
            \STREAM_OPTION_READ_TIMEOUT => \stream_set_timeout($this->stream, $a, (int) $b),
            \STREAM_OPTION_WRITE_BUFFER => \stream_set_write_buffer($this->stream, $a === 0 ? 0 : (int) $b) === 0,
            default => false,
        };
    }

    /** @return resource|false */
    public function stream_cast(int $as)
    {
        return $this->stream ?? false;
    }

    public function stream_close(): void
    {
        if ($this->stream !== null) {
            \fclose($this->stream);
        }
    }

    /**
     * None of them has a name in a folder.
     *
     * @return array<int|string, int>|false
     */
    public function url_stat(string $path, int $flags): array|false
    {
        return false;
    }
}
