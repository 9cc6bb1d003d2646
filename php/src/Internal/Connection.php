<?php

declare(strict_types=1);

namespace Fairlead\Internal;

use RuntimeException;

/**
 * The connection to Fairlead: frames, as PROTOCOL.md of its native plugin tells them.
 *
 * @internal
 */
final class Connection
{
    public const REPLY = 3;
    public const EARLY = 4;
    public const LEAVING = 7;
    public const LOG = 9;

    /** Flags of a REPLY: the response is whole; this process can take the next request; the response breaks off. */
    public const LAST = 1;
    public const READY = 2;
    public const CUT = 4;

    private const HELLO = 1;
    private const REQUEST = 2;
    private const GONE = 5;
    private const STOP = 6;

    private const HEADER = 12;
    /** Bytes up to which a frame goes out in one write. */
    private const ONE_WRITE = 65536;
    /** Bytes up to which PHP's own buffer is the fastest way. */
    private const BUFFERED = 65536;

    /** @var resource */
    private $socket;
    /** Number of the running request; 0 when none runs. */
    private int $number = 0;
    private bool $closed = false;
    private bool $stopped = false;
    private bool $gone = false;

    /** @param resource $socket whose hello has been said */
    public function __construct($socket)
    {
        // Without a limit on how long a client may take with what it is sent: Fairlead has one.
        stream_set_timeout($socket, -1);
        $this->socket = $socket;
    }

    public static function open(string $address, string $token): self
    {
        $socket = @stream_socket_client("unix://$address", $code, $why, 10);
        if ($socket === false) {
            throw new RuntimeException("Cannot connect to Fairlead at $address: $why");
        }
        stream_set_blocking($socket, true);
        $self = new self($socket);
        $hello = ['v' => 1, 'token' => $token, 'pid' => (int) getmypid(), 'php' => PHP_VERSION, 'sapi' => PHP_SAPI];
        $self->write($self->header(self::HELLO, 0, 0, strlen($text = serialize($hello))) . $text);
        return $self;
    }

    /**
     * Waits for the next request.
     *
     * @return array{array<string, mixed>, string}|null its head and its body; null when there will be none
     */
    public function nextRequest(): ?array
    {
        $this->number = 0;
        while (!$this->stopped && ($frame = $this->readHeader()) !== null) {
            if ($frame['type'] === self::REQUEST && $frame['length'] >= 4) {
                return $this->readRequest($frame['number'], $frame['length']);
            }
            $this->note($frame);
        }
        return null;
    }

    /** Sends a frame of the running request. */
    public function send(int $type, int $flags, string $payload = ''): void
    {
        $header = $this->header($type, $flags, $this->number, strlen($payload));
        if (strlen($payload) + self::HEADER <= self::ONE_WRITE) {
            $this->write($header . $payload);
        } else {
            $this->write($header);
            $this->write($payload);
        }
        if (($flags & self::READY) !== 0) {
            // What comes from now on is of the next one.
            $this->number = 0;
        }
    }

    /** Whether the client of the running request has left. Does not wait. */
    public function clientGone(int $number): bool
    {
        if ($number !== $this->number) {
            return false;
        }
        while (!$this->gone && !$this->closed) {
            $read = [$this->socket];
            $none = null;
            if (@stream_select($read, $none, $none, 0) !== 1 || ($frame = $this->readHeader()) === null) {
                break;
            }
            $this->note($frame);
        }
        return $this->gone || $this->closed;
    }

    public function number(): int
    {
        return $this->number;
    }

    /** @param array{length: int, type: int, number: int} $frame */
    private function note(array $frame): void
    {
        if ($frame['length'] !== 0 || ($frame['type'] !== self::GONE && $frame['type'] !== self::STOP)) {
            throw new RuntimeException("Expected GONE or STOP from Fairlead, received a frame of type {$frame['type']}");
        }
        if ($frame['type'] === self::STOP) {
            $this->stopped = true;
        } elseif ($frame['number'] === $this->number) {
            $this->gone = true;
        }
    }

    /** @return array{array<string, mixed>, string}|null */
    private function readRequest(int $number, int $length): ?array
    {
        $this->number = $number;
        $this->gone = false;
        $size = $this->read(4);
        if ($size === null) {
            return null;
        }
        /** @var array{1: int} $unpacked */
        $unpacked = unpack('V', $size);
        $size = $unpacked[1];
        $bytes = $this->read($size);
        $body = $bytes === null ? null : $this->read($length - 4 - $size);
        if ($bytes === null || $body === null) {
            return null;
        }
        $head = unserialize($bytes, ['allowed_classes' => false]);
        if (!is_array($head)) {
            throw new RuntimeException('Expected the head of a request from Fairlead, received something else');
        }
        /** @var array<string, mixed> $head */
        return [$head, $body];
    }

    /** @return array{length: int, type: int, number: int}|null */
    private function readHeader(): ?array
    {
        $bytes = $this->read(self::HEADER);
        if ($bytes === null) {
            return null;
        }
        /** @var array{length: int, type: int, number: int} $header */
        $header = unpack('Vlength/Ctype/Cflags/vzero/Vnumber', $bytes);
        return $header;
    }

    /** Waits for so many bytes; null when they do not come. */
    private function read(int $length): ?string
    {
        $bytes = '';
        while (($left = $length - strlen($bytes)) > 0) {
            // For much it needs one piece of memory only.
            $more = $left > self::BUFFERED ? @stream_get_contents($this->socket, $left) : @fread($this->socket, $left);
            if ($more !== false && $more !== '') {
                $bytes = $bytes === '' ? $more : $bytes . $more;
            } elseif (feof($this->socket)) {
                // It was no signal.
                $this->closed = true;
                return null;
            }
        }
        return $bytes;
    }

    private function write(string $bytes): void
    {
        while (!$this->closed && $bytes !== '') {
            $written = @fwrite($this->socket, $bytes);
            if ($written === strlen($bytes)) {
                return;
            }
            if ($written !== false && $written > 0) {
                $bytes = substr($bytes, $written);
            } elseif (!str_contains(error_get_last()['message'] ?? '', 'errno=4 ')) {
                // It was no signal (EINTR).
                $this->closed = true;
            }
        }
    }

    private function header(int $type, int $flags, int $number, int $length): string
    {
        return pack('VCCvV', $length, $type, $flags, 0, $number);
    }
}
