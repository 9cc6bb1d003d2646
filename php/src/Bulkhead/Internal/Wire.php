<?php

declare(strict_types=1);

namespace Fairlead\Bulkhead\Internal;

use Fairlead\Bulkhead\BulkheadUnavailableException;

/**
 * The socket beneath a connection: bytes go out at once, and are waited for with a limit.
 *
 * @internal
 */
final class Wire
{
    public bool $closed = false;
    /** @var resource */
    private $stream;
    /** Seconds that a read waits, as the socket knows them. */
    private float $patience = 0.0;

    /**
     * @param float $seconds within which it opens
     * @throws BulkheadUnavailableException
     */
    public function __construct(string $path, float $seconds)
    {
        $stream = @stream_socket_client("unix://$path", $code, $why, $seconds);
        if ($stream === false) {
            throw new BulkheadUnavailableException("Cannot reach the bulkheads at $path: $why");
        }
        $this->stream = $stream;
        // Frames go straight to where they are read.
        stream_set_read_buffer($stream, 0);
    }

    /** Whether all of it is on its way: waits for room, and closes when there is nobody to read it. */
    public function send(string $bytes): bool
    {
        while (!$this->closed) {
            $written = @fwrite($this->stream, $bytes);
            if ($written === strlen($bytes)) {
                return true;
            }
            if ($written !== false && $written > 0) {
                $bytes = substr($bytes, $written);
            } elseif (!str_contains(error_get_last()['message'] ?? '', 'errno=4 ')) {
                // It was no signal (EINTR).
                $this->close();
            }
        }
        return false;
    }

    /** Whether a frame can be sent without a wait. */
    public function hasRoom(): bool
    {
        $none = null;
        $write = [$this->stream];
        return @stream_select($none, $write, $none, 0) === 1;
    }

    /** What has come, or comes within so many seconds; empty when that is nothing, null when nothing will come any more. */
    public function receive(float $seconds): ?string
    {
        if ($this->closed) {
            return null;
        }
        if ($seconds <= 0.0) {
            $read = [$this->stream];
            $none = null;
            if (@stream_select($read, $none, $none, 0) !== 1) {
                return '';
            }
        } elseif ($seconds > $this->patience || $seconds < $this->patience / 2) {
            // Mostly it answers at once: the rest is told by the caller's own clock.
            $this->patience = $seconds;
            stream_set_timeout($this->stream, (int) $seconds, (int) (($seconds - (int) $seconds) * 1e6) + 1000);
        }
        // A read that waits by itself (ext-sockets) would be a call of the system less, and takes longer all the same: who sends to
        // one that waits in poll() is done sooner.
        $bytes = @fread($this->stream, 1024);
        if ($bytes !== false && $bytes !== '') {
            return $bytes;
        }
        return feof($this->stream) ? null : '';
    }

    /** Also while a program that this one has started holds the descriptor. */
    public function close(): void
    {
        if (!$this->closed) {
            $this->closed = true;
            @stream_socket_shutdown($this->stream, STREAM_SHUT_RDWR);
            fclose($this->stream);
        }
    }
}
