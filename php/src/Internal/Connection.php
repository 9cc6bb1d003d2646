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
    /** Bytes that are asked for at once. */
    private const SMALL_READ = 16384;
    private const LARGE_READ = 262144;

    /** @var resource */
    private $socket;
    private string $unread = '';
    /** Number of the running request; 0 when none runs. */
    private int $number = 0;
    private bool $closed = false;
    private bool $stopped = false;
    private bool $gone = false;

    /** @param array<string, string|int> $hello what this process says of itself besides what all say */
    public function __construct(string $address, string $token, array $hello = [])
    {
        $socket = @stream_socket_client("unix://$address", $code, $why, 10);
        if ($socket === false) {
            throw new RuntimeException("Cannot connect to Fairlead at $address: $why");
        }
        stream_set_blocking($socket, true);
        // Without a limit on how long a client may take with what it is sent: Fairlead has one.
        stream_set_timeout($socket, -1);
        $this->socket = $socket;
        $hello += ['v' => 1, 'token' => $token, 'pid' => (int) getmypid(), 'php' => PHP_VERSION, 'sapi' => PHP_SAPI];
        $this->write($this->header(self::HELLO, 0, 0, strlen($text = serialize($hello))) . $text);
    }

    /**
     * Waits for the next request.
     *
     * @return array{array<string, mixed>, string}|null its head and its body; null when there will be none
     */
    public function nextRequest(): ?array
    {
        $this->number = 0;
        while (!$this->stopped) {
            if (!$this->need(self::HEADER)) {
                return null;
            }
            ['length' => $length, 'type' => $type, 'number' => $number] = $this->readHeader();
            if ($type === self::REQUEST && $length >= 4) {
                return $this->readRequest($number, $length);
            }
            $this->unread = substr($this->unread, self::HEADER);
            $this->note($type, $length, $number);
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
            while (strlen($this->unread) >= self::HEADER) {
                ['length' => $length, 'type' => $type, 'number' => $of] = $this->readHeader();
                $this->unread = substr($this->unread, self::HEADER);
                $this->note($type, $length, $of);
            }
            $read = [$this->socket];
            $none = null;
            if (@stream_select($read, $none, $none, 0) !== 1 || !$this->receive(self::SMALL_READ)) {
                break;
            }
        }
        return $this->gone || $this->closed;
    }

    public function number(): int
    {
        return $this->number;
    }

    /** Whether Fairlead has asked this process to end, or is gone. */
    public function over(): bool
    {
        return $this->stopped || $this->closed;
    }

    private function note(int $type, int $length, int $number): void
    {
        if ($length !== 0 || ($type !== self::GONE && $type !== self::STOP)) {
            throw new RuntimeException("Expected GONE or STOP from Fairlead, received a frame of type $type");
        }
        if ($type === self::STOP) {
            $this->stopped = true;
        } elseif ($number === $this->number) {
            $this->gone = true;
        }
    }

    /** @return array{array<string, mixed>, string}|null */
    private function readRequest(int $number, int $length): ?array
    {
        if (!$this->need(self::HEADER + 4)) {
            return null;
        }
        $size = $this->readInt(self::HEADER);
        $start = self::HEADER + 4;
        if (4 + $size > $length || !$this->need($start + $size)) {
            return null;
        }
        $this->number = $number;
        $this->gone = false;
        $head = unserialize(substr($this->unread, $start, $size), ['allowed_classes' => false]);
        $this->unread = substr($this->unread, $start + $size);
        $body = $this->take($length - 4 - $size);
        if (!is_array($head) || $body === null) {
            return null;
        }
        /** @var array<string, mixed> $head */
        return [$head, $body];
    }

    /** Takes bytes from the front of what comes; null when they do not come. */
    private function take(int $length): ?string
    {
        $have = strlen($this->unread);
        if ($have >= $length) {
            $bytes = substr($this->unread, 0, $length);
            $this->unread = substr($this->unread, $length);
            return $bytes;
        }
        $parts = [];
        // What is read here is no more than belongs to it.
        while (true) {
            $parts[] = $this->unread;
            $length -= strlen($this->unread);
            $this->unread = '';
            if ($length === 0) {
                return implode('', $parts);
            }
            if (!$this->receive(min($length, self::LARGE_READ))) {
                return null;
            }
        }
    }

    /** Waits until so many bytes are there; false when they do not come. */
    private function need(int $length): bool
    {
        while (strlen($this->unread) < $length) {
            if (!$this->receive(max(self::SMALL_READ, $length - strlen($this->unread)))) {
                return false;
            }
        }
        return true;
    }

    /** Waits for bytes; false when none will come. */
    private function receive(int $most): bool
    {
        while (true) {
            // Unlike fread it asks the kernel once, and waits as long as it takes.
            $bytes = @stream_socket_recvfrom($this->socket, $most);
            if ($bytes !== false && $bytes !== '') {
                $this->unread .= $bytes;
                return true;
            }
            // False is a signal, or an error that the next look at the connection tells.
            if ($bytes === '' || feof($this->socket)) {
                $this->closed = true;
                return false;
            }
        }
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

    /** @return array{length: int, type: int, number: int} */
    private function readHeader(): array
    {
        /** @var array{length: int, type: int, number: int} $header */
        $header = unpack('Vlength/Ctype/Cflags/vzero/Vnumber', $this->unread);
        return $header;
    }

    private function readInt(int $at): int
    {
        /** @var array{1: int} $found */
        $found = unpack('V', $this->unread, $at);
        return $found[1];
    }
}
