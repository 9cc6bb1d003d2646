<?php

declare(strict_types=1);

namespace Fairlead\Internal;

use Fairlead\Worker\Fork\HeadReader;
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
    private const NONE = "\0\0\0\0";
    /** Bytes up to which a frame goes out in one write. */
    private const ONE_WRITE = 65536;
    /** Bytes that are received at once: most requests are whole with them. */
    private const AT_ONCE = 65536;

    /** @var resource */
    private $socket;
    private string $unread = '';
    /** How much of it has been taken. */
    private int $taken = 0;
    /** Number of the running request, as it stands in its frames; NONE when none runs. */
    private string $number = self::NONE;
    private bool $closed = false;
    private bool $stopped = false;
    private bool $gone = false;

    /**
     * @param resource $socket whose hello has been said
     * @param bool $forked whether this is for a forked child
     */
    public function __construct($socket, private readonly bool $forked = false)
    {
        // Without a limit on how long a client may take with what it is sent: Fairlead has one.
        stream_set_timeout($socket, -1);
        // What has come is taken at once: nothing stays behind where stream_select or the kernel do not see it.
        stream_set_read_buffer($socket, 0);
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
        $self->send(self::HELLO, 0, serialize($hello));
        return $self;
    }

    /**
     * Waits for the next request.
     *
     * @return array{array<string, mixed>, string}|null its head and its body; null when there will be none
     */
    public function nextRequest(): ?array
    {
        $this->number = self::NONE;
        while (!$this->stopped && ($frame = $this->readHeader()) !== null) {
            if ($frame[1] === self::REQUEST && $frame[0] >= 4) {
                $this->number = $frame[2];
                $this->gone = false;
                return $this->readRequest($frame[0]);
            }
            $this->note($frame);
        }
        return null;
    }

    /** Sends a frame of the running request. */
    public function send(int $type, int $flags, string $payload = ''): void
    {
        $header = \pack('VV', \strlen($payload), $type | $flags << 8) . $this->number;
        if (\strlen($payload) + self::HEADER <= self::ONE_WRITE) {
            $this->write($header . $payload);
        } else {
            $this->write($header);
            $this->write($payload);
        }
        if (($flags & self::READY) !== 0) {
            // What comes from now on is of the next one.
            $this->number = self::NONE;
        }
    }

    /** Whether the client of the running request has left. Does not wait. */
    public function clientGone(string $number): bool
    {
        if ($number !== $this->number) {
            return false;
        }
        while (!$this->gone && !$this->closed) {
            if (\strlen($this->unread) - $this->taken < self::HEADER && !$this->hasCome()) {
                break;
            }
            $frame = $this->readHeader();
            if ($frame === null) {
                break;
            }
            $this->note($frame);
        }
        return $this->gone || $this->closed;
    }

    /** Of the running request. */
    public function number(): string
    {
        return $this->number;
    }

    /** @param array{int, int, string} $frame its length, type and number */
    private function note(array $frame): void
    {
        [$length, $type, $number] = $frame;
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
    private function readRequest(int $length): ?array
    {
        $size = $this->readLength();
        $text = $size === null ? null : $this->read($size);
        if ($text === null) {
            return null;
        }
        $head = RequestHead::read($text);
        $left = $length - 4 - $size;
        if ($left === 0) {
            return [$head, ''];
        }
        $size = $this->readLength();
        $more = $size === null ? null : $this->read($size);
        $body = $more === null ? null : $this->read($left - 4 - $size);
        if ($body === null) {
            return null;
        }
        if ($more !== '') {
            $head += $this->forked ? HeadReader::read($more) : (array) unserialize($more, ['allowed_classes' => false]);
        }
        return [$head, $body];
    }

    private function readLength(): ?int
    {
        if (!$this->receive(4)) {
            return null;
        }
        /** @var array{1: int} $unpacked */
        $unpacked = \unpack('V', $this->unread, $this->taken);
        $this->taken += 4;
        return $unpacked[1];
    }

    /** @return array{int, int, string}|null length, type and number */
    private function readHeader(): ?array
    {
        if (!$this->receive(self::HEADER)) {
            return null;
        }
        // A format of one letter is the cheapest.
        /** @var array{1: int, 2: int} $header */
        $header = \unpack('V2', $this->unread, $this->taken);
        $number = \substr($this->unread, $this->taken + 8, 4);
        $this->taken += self::HEADER;
        return [$header[1], $header[2] & 0xff, $number];
    }

    /** Waits for so many bytes; null when they do not come. */
    private function read(int $length): ?string
    {
        $have = \strlen($this->unread) - $this->taken;
        if ($length - $have > self::AT_ONCE) {
            // For much, one piece of memory.
            $bytes = \substr($this->unread, $this->taken);
            $this->unread = '';
            $this->taken = 0;
            while (($left = $length - \strlen($bytes)) > 0) {
                $more = @stream_get_contents($this->socket, $left);
                if ($more !== false && $more !== '') {
                    $bytes = $bytes === '' ? $more : $bytes . $more;
                } elseif ($this->hasEnded()) {
                    return null;
                }
            }
            return $bytes;
        }
        if (!$this->receive($length)) {
            return null;
        }
        if ($length === 0) {
            return '';
        }
        $bytes = \substr($this->unread, $this->taken, $length);
        $this->taken += $length;
        if ($this->taken === \strlen($this->unread)) {
            $this->unread = '';
            $this->taken = 0;
        }
        return $bytes;
    }

    /** Waits until so many bytes are unread; false when they do not come. */
    private function receive(int $length): bool
    {
        while (\strlen($this->unread) - $this->taken < $length) {
            // Unlike fread it asks the kernel once, and waits as long as it takes.
            $bytes = @\stream_socket_recvfrom($this->socket, self::AT_ONCE);
            if ($bytes !== false && $bytes !== '') {
                $left = $this->unread === '' ? '' : \substr($this->unread, $this->taken);
                $this->unread = $left === '' ? $bytes : $left . $bytes;
                $this->taken = 0;
            } elseif ($bytes === '' || $this->hasEnded()) {
                $this->closed = true;
                return false;
            }
        }
        return true;
    }

    /** Whether there are bytes to be received, or the end. Does not wait. */
    private function hasCome(): bool
    {
        $read = [$this->socket];
        $none = null;
        return @stream_select($read, $none, $none, 0) === 1;
    }

    /** Why nothing was received: the end, and not a signal. */
    private function hasEnded(): bool
    {
        return $this->closed = feof($this->socket);
    }

    private function write(string $bytes): void
    {
        while (!$this->closed && $bytes !== '') {
            $written = @\fwrite($this->socket, $bytes);
            if ($written === \strlen($bytes)) {
                return;
            }
            if ($written !== false && $written > 0) {
                $bytes = \substr($bytes, $written);
            } elseif (!str_contains(error_get_last()['message'] ?? '', 'errno=4 ')) {
                // It was no signal (EINTR).
                $this->closed = true;
            }
        }
    }
}
