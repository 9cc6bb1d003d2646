<?php

declare(strict_types=1);

namespace Fairlead\Runtime;

use RuntimeException;

/**
 * The frames of the native worker protocol, as one process sees them.
 *
 * @internal
 */
final class Connection
{
    public const HELLO = 1;
    public const REQUEST = 2;
    public const REPLY = 3;
    public const EARLY = 4;
    public const GONE = 5;
    public const STOP = 6;
    public const LEAVING = 7;
    public const LOG = 9;

    /** The number of no request. Numbers are as they stand in frames. */
    public const NONE = "\0\0\0\0";

    public const LAST = 1;
    public const READY = 2;

    /** Bytes up to which a frame goes out in one write. */
    private const ONE_WRITE = 65536;

    /** @var resource */
    private $socket;
    private string $unread = '';

    /** Whether Fairlead has closed it. */
    public bool $closed = false;
    /** Whether Fairlead has asked for the end. */
    public bool $stopped = false;
    /** Whether the client of the running request has left. */
    public bool $gone = false;

    /** @param resource $socket whose hello has been said */
    public function __construct($socket)
    {
        // Without a limit on how long a client may take with what it is sent: Fairlead has one.
        \stream_set_timeout($socket, -1);
        // What has come is taken at once: nothing stays behind where stream_select or the kernel do not see it.
        \stream_set_read_buffer($socket, 0);
        $this->socket = $socket;
    }

    public static function open(string $address, string $token): self
    {
        $socket = @\stream_socket_client("unix://$address", $code, $why, 10);
        if ($socket === false) {
            throw new RuntimeException("Cannot connect to Fairlead at $address: $why");
        }
        \stream_set_blocking($socket, true);
        $self = new self($socket);
        $hello = ['v' => 1, 'token' => $token, 'pid' => \getmypid(), 'php' => \PHP_VERSION, 'sapi' => \PHP_SAPI];
        $self->send(self::HELLO, 0, self::NONE, \serialize($hello));
        return $self;
    }

    public function send(int $type, int $flags, string $number, string $payload = '', string $after = ''): void
    {
        $length = \strlen($payload);
        $head = \pack('VV', $length, $type | $flags << 8) . $number;
        if ($length + 12 <= self::ONE_WRITE) {
            $this->write($head . $payload . $after);
            return;
        }
        $this->write($head . \substr($payload, 0, self::ONE_WRITE - 12));
        $this->write(\substr($payload, self::ONE_WRITE - 12) . $after);
    }

    /** Writes all of it, or nothing more ever: half a frame would have the next one taken for its rest. */
    private function write(string $bytes): void
    {
        while (!$this->closed && $bytes !== '') {
            $written = @\fwrite($this->socket, $bytes);
            if ($written === \strlen($bytes)) {
                return;
            }
            if ($written === false || $written === 0) {
                $this->closed = $this->gone = true;
                return;
            }
            $bytes = \substr($bytes, $written);
        }
    }

    /** A frame without a payload, to be sent along with another. */
    public static function empty(int $type, int $flags, string $number): string
    {
        return \pack('VV', 0, $type | $flags << 8) . $number;
    }

    /**
     * Waits for the next request.
     *
     * @return array{string, string}|null Its number and its payload; null when there will be none
     */
    public function nextRequest(): ?array
    {
        $this->gone = false;
        while (!$this->stopped) {
            $frame = $this->take();
            if ($frame === null) {
                if (!$this->receive()) {
                    return null;
                }
                continue;
            }
            [$type, $number, $payload] = $frame;
            if ($type === self::REQUEST) {
                return [$number, $payload];
            }
            $this->note($type);
            // Of a request that is over.
            $this->gone = false;
        }
        return null;
    }

    /** Takes what has come while a request runs, without waiting. */
    public function look(): void
    {
        while (!$this->closed) {
            while (($frame = $this->take()) !== null) {
                $this->note($frame[0]);
            }
            $read = [$this->socket];
            $none = null;
            if (@\stream_select($read, $none, $none, 0) !== 1 || !$this->receive()) {
                return;
            }
        }
    }

    private function note(int $type): void
    {
        if ($type === self::GONE) {
            $this->gone = true;
        } elseif ($type === self::STOP) {
            $this->stopped = true;
        } else {
            throw new RuntimeException("Expected GONE or STOP from Fairlead, received a frame of type $type");
        }
    }

    /**
     * The first frame of what has been received.
     *
     * @return array{int, string, string}|null Type, number and payload
     */
    private function take(): ?array
    {
        $have = \strlen($this->unread);
        if ($have < 12) {
            return null;
        }
        // A format of one letter is the cheapest.
        [1 => $length, 2 => $type] = \unpack('V2', $this->unread);
        $end = 12 + $length;
        if ($have < $end) {
            return null;
        }
        $number = \substr($this->unread, 8, 4);
        $payload = \substr($this->unread, 12, $length);
        $this->unread = $have === $end ? '' : \substr($this->unread, $end);
        return [$type & 0xff, $number, $payload];
    }

    /** Waits for bytes; false when none will come. */
    private function receive(): bool
    {
        // Unlike fread it asks the kernel once, and waits as long as it takes.
        $bytes = @\stream_socket_recvfrom($this->socket, 65536);
        if ($bytes === false) {
            // A signal, or an error that the next look at the socket tells.
            if (\feof($this->socket)) {
                $this->closed = $this->gone = true;
            }
            return !$this->closed;
        }
        if ($bytes === '') {
            $this->closed = $this->gone = true;
            return false;
        }
        $this->unread .= $bytes;
        return true;
    }
}
