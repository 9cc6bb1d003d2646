<?php

declare(strict_types=1);

namespace Fairlead\Bulkhead\Internal;

use Fairlead\Bulkhead\BulkheadUnavailableException;
use InvalidArgumentException;

/**
 * This process' connection to the bulkheads' socket: frames, as PROTOCOL.md beside the server tells them. When it closes, the
 * server has everything back.
 *
 * @internal
 */
final class Connection
{
    private const HELLO = 1;
    private const ACQUIRE = 2;
    private const RELEASE = 3;
    private const CANCEL = 4;
    private const COUNTS = 5;
    private const WELCOME = 65;
    private const GRANT = 66;
    private const DENY = 67;
    private const COUNTED = 68;
    private const LOST = 69;
    private const FAULT = 70;
    /** How the frame of a GRANT begins, up to its number. */
    private const GRANTED = "\x14\0\x42\0";

    private const VERSION = 1;
    private const HEADER = 8;
    private const LONGEST = 600;
    private const NONE = 0xFFFFFFFF;
    /** Frames for which every system has room. */
    private const ROOM = 64;
    /** Seconds within which the server opens and answers what needs no wait. */
    private const PATIENCE = 5;
    /** By their numbers on the wire, from 1 on. */
    private const REASONS = ['full', 'queue_full', 'timeout', 'cancelled', 'deadlock', 'draining', 'unavailable'];

    /** Errors that end a script without destructors. */
    private const FATAL = E_ERROR | E_PARSE | E_CORE_ERROR | E_COMPILE_ERROR | E_RECOVERABLE_ERROR | E_USER_ERROR;

    /** @var array<string, self> the open ones, by path */
    private static array $open = [];
    private static bool $watched = false;
    private static ?bool $forks = null;

    /** @var resource */
    private $socket;
    /** A child of this process has no business here: what is held is its parent's. */
    private readonly int $pid;
    private bool $closed = false;
    private bool $greeted = false;
    /** Goes out with the next frame. */
    private string $unsent;
    /** Frames that were sent since something was asked: the server may not have read them. */
    private int $posted = 0;
    private string $received = '';
    private int $number = 0;
    /** Seconds that a read waits, as the socket knows them. */
    private float $patience = 0;
    /** @var array<int, Answer|array{int, int}|InvalidArgumentException> answers that nobody has taken yet */
    private array $answers = [];
    /** @var array<int, bool> what is asked, waits or is held; true where nobody wants it any more */
    private array $asked = [];
    /** @var array<int, true> what was held and is lost */
    private array $lost = [];

    /** @throws BulkheadUnavailableException */
    private function __construct(private readonly string $path)
    {
        $this->pid = (int) getmypid();
        $socket = @stream_socket_client("unix://$path", $code, $why, self::PATIENCE);
        if ($socket === false) {
            throw new BulkheadUnavailableException("Cannot reach the bulkheads at $path: $why");
        }
        $this->socket = $socket;
        // Frames go straight to where they are read.
        stream_set_read_buffer($socket, 0);
        // What PHP runs for one request only closes its connection at the end of that.
        $scoped = PHP_SAPI === 'cli' || PHP_SAPI === 'phpdbg' || getenv('FAIRLEAD_WORKER') === '1' ? 0 : 1;
        $this->unsent = pack('vCCVa4CC', 6, self::HELLO, 0, 0, 'FLBH', self::VERSION, $scoped);
    }

    public function __destruct()
    {
        // Also while a program that this one has started holds the descriptor.
        if (!$this->closed && $this->ours()) {
            @stream_socket_shutdown($this->socket, STREAM_SHUT_RDWR);
        }
    }

    /**
     * The one connection of this process to this socket; another one when that was lost, and in a child of the process.
     *
     * @throws BulkheadUnavailableException
     */
    public static function to(string $path): self
    {
        $open = self::$open[$path] ?? null;
        if ($open === null || $open->closed || !$open->ours()) {
            self::$open[$path] = $open = new self($path);
            if (!self::$watched) {
                self::$watched = true;
                register_shutdown_function(static function (): void {
                    if (((error_get_last()['type'] ?? 0) & self::FATAL) !== 0) {
                        foreach (self::$open as $one) {
                            $one->__destruct();
                        }
                    }
                });
            }
        }
        return $open;
    }

    /**
     * Asks for permits. The answer is to be awaited.
     *
     * @throws BulkheadUnavailableException
     */
    public function ask(string $name, int $limit, int $weight, int $leaseMs, int $waitMs, ?int $maxQueue): int
    {
        $number = $this->next();
        $this->asked[$number] = false;
        $numbers = [$weight, $limit, $leaseMs, $waitMs, $maxQueue ?? self::NONE, 1];
        $this->write(pack('vCCVV6', 24 + strlen($name), self::ACQUIRE, 0, $number, ...$numbers) . $name);
        return $number;
    }

    /**
     * The answer to an ask; null when there is none within so many seconds, which leaves it asked.
     *
     * @throws BulkheadUnavailableException
     * @throws InvalidArgumentException for what no bulkhead can be asked
     */
    public function await(int $number, float $seconds): ?Answer
    {
        $this->hasAnswer($number, $seconds);
        $answer = $this->answers[$number] ?? null;
        unset($this->answers[$number]);
        if ($answer instanceof InvalidArgumentException) {
            throw $answer;
        }
        return $answer instanceof Answer ? $answer : null;
    }

    /**
     * Whether there is an answer within so many seconds.
     *
     * @throws BulkheadUnavailableException
     */
    public function hasAnswer(int $number, float $seconds): bool
    {
        if (!isset($this->answers[$number])) {
            $until = hrtime(true) + $seconds * 1e9;
            $left = $seconds;
            // Mostly the first read has it.
            for ($this->read($seconds); !isset($this->answers[$number]) && $left > 0; $this->read($left)) {
                $left = max(0.0, ($until - hrtime(true)) / 1e9);
            }
        }
        return isset($this->answers[$number]);
    }

    /**
     * As await(), where the server is bound to answer within so many seconds.
     *
     * @throws BulkheadUnavailableException
     * @throws InvalidArgumentException for what no bulkhead can be asked
     */
    public function expect(int $number, float $seconds): Answer
    {
        return $this->await($number, $seconds + self::PATIENCE) ?? throw $this->fail('it does not answer');
    }

    /** Gives permits back. Waits for nothing, and never fails: a server that is gone has them back. */
    public function release(int $number): void
    {
        if (!isset($this->asked[$number])) {
            unset($this->lost[$number]);
            return;
        }
        unset($this->asked[$number]);
        $this->post(self::RELEASE, $number);
    }

    /** Nobody wants the answer any more: a grant that is on its way goes back. */
    public function abandon(int $number): void
    {
        if (!isset($this->asked[$number])) {
            return;
        }
        $answer = $this->answers[$number] ?? null;
        if ($answer instanceof Answer && $answer->granted) {
            unset($this->answers[$number]);
            $this->release($number);
            return;
        }
        $this->asked[$number] = true;
        $this->post(self::CANCEL, $number);
    }

    /** Whether what was granted under this number is somebody else's by now. Looks, and does not wait. */
    public function isLost(int $number): bool
    {
        if (!$this->closed && !isset($this->lost[$number])) {
            try {
                $this->read(0.0);
            } catch (BulkheadUnavailableException) {
                // So it is.
            }
        }
        return $this->closed || isset($this->lost[$number]);
    }

    /**
     * Permits that are out, of each of these bulkheads; 0 for what nobody has used.
     *
     * @param list<string> $names
     * @return list<int>
     * @throws BulkheadUnavailableException
     * @throws InvalidArgumentException for a name that no bulkhead can have
     */
    public function counts(array $names): array
    {
        $numbers = [];
        $frames = '';
        foreach ($names as $name) {
            $numbers[] = $number = $this->next();
            $this->asked[$number] = false;
            $frames .= pack('vCCV', strlen($name), self::COUNTS, 0, $number) . $name;
        }
        $this->write($frames);
        $until = hrtime(true) + self::PATIENCE * 1e9;
        $counts = [];
        foreach ($numbers as $number) {
            while (!isset($this->answers[$number])) {
                $left = ($until - hrtime(true)) / 1e9;
                if ($left <= 0) {
                    throw $this->fail('it does not answer');
                }
                $this->read($left);
            }
            $answer = $this->answers[$number];
            unset($this->answers[$number]);
            if ($answer instanceof InvalidArgumentException) {
                throw $answer;
            }
            $counts[] = is_array($answer) ? $answer[1] : 0;
        }
        return $counts;
    }

    /** Whether this is the process that connected. Where PHP cannot fork, as in php-fpm, the system need not be asked. */
    private function ours(): bool
    {
        return !(self::$forks ??= function_exists('pcntl_fork')) || $this->pid === getmypid();
    }

    private function next(): int
    {
        do {
            $this->number = $this->number % self::NONE + 1;
        } while (isset($this->asked[$this->number]) || isset($this->lost[$this->number]));
        return $this->number;
    }

    /** @throws BulkheadUnavailableException */
    private function write(string $frames): void
    {
        if (!$this->send($this->unsent . $frames)) {
            throw $this->fail('it has closed the connection');
        }
        $this->unsent = '';
        $this->posted = 0;
    }

    /** Sends what nobody waits for. A server that stands still holds nobody up: what it has no room for goes out with the next frame. */
    private function post(int $type, int $number): void
    {
        if ($this->closed || !$this->ours()) {
            return;
        }
        $frame = pack('vCCV', 0, $type, 0, $number);
        if (++$this->posted > self::ROOM || $this->unsent !== '') {
            $none = null;
            $write = [$this->socket];
            if (@stream_select($none, $write, $none, 0) !== 1) {
                $this->unsent .= $frame;
                return;
            }
        }
        if ($this->send($this->unsent . $frame)) {
            $this->unsent = '';
        }
    }

    private function send(string $bytes): bool
    {
        while (!$this->closed) {
            $written = @fwrite($this->socket, $bytes);
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

    /**
     * Takes what has come; waits up to so many seconds when that is nothing.
     *
     * @throws BulkheadUnavailableException
     */
    private function read(float $seconds): void
    {
        if ($this->closed) {
            throw $this->fail('it has closed the connection');
        }
        if ($seconds <= 0.0) {
            $read = [$this->socket];
            $none = null;
            if (@stream_select($read, $none, $none, 0) !== 1) {
                return;
            }
        } elseif ($seconds > $this->patience || $seconds < $this->patience / 2) {
            // Mostly it answers at once: the rest is told by the caller's own clock.
            $this->patience = $seconds;
            stream_set_timeout($this->socket, (int) $seconds, (int) (($seconds - (int) $seconds) * 1e6) + 1000);
        }
        $bytes = @fread($this->socket, 1024);
        if ($bytes === false || $bytes === '') {
            if (feof($this->socket)) {
                throw $this->fail('it has closed the connection');
            }
            return;
        }
        $this->received = $this->received === '' ? $bytes : $this->received . $bytes;
        $this->take();
    }

    /** @throws BulkheadUnavailableException */
    private function take(): void
    {
        $at = 0;
        $end = strlen($this->received);
        if ($end === 28 && $this->greeted && str_starts_with($this->received, self::GRANTED)) {
            // Mostly there is nothing but the answer to an acquire: the short way to what the long one below does.
            /** @var array{number: int, fence: int, waited: float, position: int} $grant */
            $grant = unpack('Vnumber/Pfence/ewaited/Vposition', $this->received, 4);
            $number = $grant['number'];
            if (($this->asked[$number] ?? true) === false) {
                $this->received = '';
                $this->answers[$number] = new Answer(true, $grant['waited'] / 1000, $grant['position'], $grant['fence'], '', 0.0);
                return;
            }
        }
        while ($end - $at >= self::HEADER) {
            /** @var array{length: int, type: int, number: int} $frame */
            $frame = unpack('vlength/Ctype/x/Vnumber', $this->received, $at);
            if ($frame['length'] > self::LONGEST) {
                throw $this->fail('it sends what makes no sense');
            }
            if ($end - $at < self::HEADER + $frame['length']) {
                break;
            }
            $this->frame($frame['type'], $frame['number'], substr($this->received, $at + self::HEADER, $frame['length']));
            $at += self::HEADER + $frame['length'];
        }
        $this->received = $at === $end ? '' : substr($this->received, $at);
    }

    /** @throws BulkheadUnavailableException */
    private function frame(int $type, int $number, string $payload): void
    {
        if ($type === self::FAULT && $number === 0) {
            throw $this->fail(str_replace("\0", ': ', $payload));
        }
        if (!$this->greeted) {
            if ($type !== self::WELCOME || $payload !== 'FLBH' . chr(self::VERSION)) {
                throw $this->fail('it speaks another version: update fairlead/worker');
            }
            $this->greeted = true;
            return;
        }
        if ($type === self::LOST) {
            if (isset($this->asked[$number])) {
                unset($this->asked[$number]);
                $this->lost[$number] = true;
            }
            return;
        }
        if (!isset($this->asked[$number])) {
            return;
        }
        $abandoned = $this->asked[$number];
        $answer = $this->answer($type, $payload);
        if (!$answer instanceof Answer || !$answer->granted) {
            unset($this->asked[$number]);
        } elseif ($abandoned) {
            $this->release($number);
        }
        if (!$abandoned) {
            $this->answers[$number] = $answer;
        }
    }

    /**
     * @return Answer|array{int, int}|InvalidArgumentException
     * @throws BulkheadUnavailableException
     */
    private function answer(int $type, string $payload): Answer|array|InvalidArgumentException
    {
        if ($type === self::GRANT && strlen($payload) === 20) {
            /** @var array{fence: int, waited: float, position: int} $grant */
            $grant = unpack('Pfence/ewaited/Vposition', $payload);
            return new Answer(true, $grant['waited'] / 1000, $grant['position'], $grant['fence'], '', 0.0);
        }
        if ($type === self::DENY && strlen($payload) === 13) {
            /** @var array{reason: int, waited: float, after: int} $denial */
            $denial = unpack('Creason/ewaited/Vafter', $payload);
            $reason = self::REASONS[$denial['reason'] - 1] ?? 'unavailable';
            return new Answer(false, $denial['waited'] / 1000, 0, 0, $reason, $denial['after'] / 1000);
        }
        if ($type === self::COUNTED && strlen($payload) === 25) {
            /** @var array{limit: int, active: int} $counts */
            $counts = unpack('Cknown/Vlimit/Vactive', $payload);
            return [$counts['limit'], $counts['active']];
        }
        if ($type === self::FAULT) {
            [$code, $message] = explode("\0", $payload, 2) + ['', ''];
            $wrong = ['BULKHEAD_NAME', 'BULKHEAD_LIMIT', 'BULKHEAD_WEIGHT', 'BULKHEAD_TIME', 'BULKHEAD_KEY'];
            return in_array($code, $wrong, true)
                ? new InvalidArgumentException($message)
                : new Answer(false, 0.0, 0, 0, 'unavailable', 0.0, $message);
        }
        throw $this->fail('it sends what makes no sense');
    }

    private function fail(string $why): BulkheadUnavailableException
    {
        $this->close();
        return new BulkheadUnavailableException("Cannot use the bulkheads at {$this->path}: $why");
    }

    private function close(): void
    {
        if (!$this->closed) {
            $this->closed = true;
            @stream_socket_shutdown($this->socket, STREAM_SHUT_RDWR);
            fclose($this->socket);
        }
    }
}
