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
    /** Frames for which every system has room. */
    private const ROOM = 64;
    /** Seconds within which the server opens and answers what needs no wait. */
    private const PATIENCE = 5;

    /** Errors that end a script without destructors. */
    private const FATAL = E_ERROR | E_PARSE | E_CORE_ERROR | E_COMPILE_ERROR | E_RECOVERABLE_ERROR | E_USER_ERROR;

    /** @var array<string, self> the open ones, by path */
    private static array $open = [];
    private static bool $watched = false;
    private static ?bool $forks = null;

    private readonly Wire $wire;
    /** A child of this process has no business here: what is held is its parent's. */
    private readonly int $pid;
    private bool $greeted = false;
    /** Goes out with the next frame. */
    private string $unsent;
    /** Frames that were sent since something was asked: the server may not have read them. */
    private int $posted = 0;
    private string $received = '';
    private int $number = 0;
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
        $this->wire = new Wire($path, self::PATIENCE);
        // What PHP runs for one request only closes its connection at the end of that.
        $scoped = PHP_SAPI !== 'cli' && PHP_SAPI !== 'phpdbg' && getenv('FAIRLEAD_WORKER') !== '1';
        $this->unsent = Frames::hello($scoped);
    }

    public function __destruct()
    {
        if ($this->ours()) {
            $this->wire->close();
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
        if ($open === null || $open->wire->closed || !$open->ours()) {
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
     * @param string $terms as Frames has them
     * @throws BulkheadUnavailableException
     */
    public function ask(string $terms): int
    {
        $number = $this->next();
        $this->asked[$number] = false;
        $this->write(Frames::acquire($number, $terms));
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
        $left = $seconds + self::PATIENCE;
        if ($this->greeted && $this->received === '' && !isset($this->answers[$number])) {
            $until = hrtime(true) + $left * 1e9;
            $bytes = $this->wire->receive($left);
            // Mostly there is nothing but this grant: the short way to what take() does.
            if ($bytes !== null && ($grant = Frames::onlyGrant($bytes, $number)) !== null) {
                return $grant;
            }
            $this->take($bytes);
            $left = ($until - hrtime(true)) / 1e9;
        }
        return $this->await($number, $left) ?? throw $this->fail('it does not answer');
    }

    /** Gives permits back. Waits for nothing, and never fails: a server that is gone has them back. */
    public function release(int $number): void
    {
        if (!isset($this->asked[$number])) {
            unset($this->lost[$number]);
            return;
        }
        unset($this->asked[$number]);
        $this->post(Frames::RELEASE, $number);
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
        $this->post(Frames::CANCEL, $number);
    }

    /** Whether what was granted under this number is somebody else's by now. Looks, and does not wait. */
    public function isLost(int $number): bool
    {
        if (!$this->wire->closed && !isset($this->lost[$number])) {
            try {
                $this->read(0.0);
            } catch (BulkheadUnavailableException) {
                // So it is.
            }
        }
        return $this->wire->closed || isset($this->lost[$number]);
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
            $frames .= Frames::counts($number, $name);
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
            $this->number = $this->number % Frames::NONE + 1;
        } while (isset($this->asked[$this->number]) || isset($this->lost[$this->number]));
        return $this->number;
    }

    /** @throws BulkheadUnavailableException */
    private function write(string $frames): void
    {
        if (!$this->wire->send($this->unsent . $frames)) {
            throw $this->fail('it has closed the connection');
        }
        $this->unsent = '';
        $this->posted = 0;
    }

    /** Sends what nobody waits for. A server that stands still holds nobody up: what it has no room for goes out with the next frame. */
    private function post(int $type, int $number): void
    {
        if ($this->wire->closed || !$this->ours()) {
            return;
        }
        $frame = Frames::bare($type, $number);
        if ((++$this->posted > self::ROOM || $this->unsent !== '') && !$this->wire->hasRoom()) {
            $this->unsent .= $frame;
            return;
        }
        if ($this->wire->send($this->unsent . $frame)) {
            $this->unsent = '';
        }
    }

    /**
     * Takes what has come; waits up to so many seconds when that is nothing.
     *
     * @throws BulkheadUnavailableException
     */
    private function read(float $seconds): void
    {
        $this->take($this->wire->receive($seconds));
    }

    /** @throws BulkheadUnavailableException */
    private function take(?string $bytes): void
    {
        if ($bytes === null) {
            throw $this->fail('it has closed the connection');
        }
        $received = $this->received . $bytes;
        $at = 0;
        $end = strlen($received);
        while ($end - $at >= Frames::HEADER) {
            /** @var array{length: int, type: int, number: int} $frame */
            $frame = unpack('vlength/Ctype/x/Vnumber', $received, $at);
            if ($frame['length'] > Frames::LONGEST) {
                throw $this->fail('it sends what makes no sense');
            }
            if ($end - $at < Frames::HEADER + $frame['length']) {
                break;
            }
            $this->frame($frame['type'], $frame['number'], substr($received, $at + Frames::HEADER, $frame['length']));
            $at += Frames::HEADER + $frame['length'];
        }
        $this->received = substr($received, $at);
    }

    /** @throws BulkheadUnavailableException */
    private function frame(int $type, int $number, string $payload): void
    {
        if ($type === Frames::FAULT && $number === 0) {
            throw $this->fail(str_replace("\0", ': ', $payload));
        }
        if (!$this->greeted) {
            if ($type !== Frames::WELCOME || $payload !== Frames::GREETING) {
                throw $this->fail('it speaks another version: update fairlead/worker');
            }
            $this->greeted = true;
            return;
        }
        if ($type === Frames::LOST) {
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
        $answer = Frames::answer($type, $payload) ?? throw $this->fail('it sends what makes no sense');
        if (!$answer instanceof Answer || !$answer->granted) {
            unset($this->asked[$number]);
        } elseif ($abandoned) {
            $this->release($number);
        }
        if (!$abandoned) {
            $this->answers[$number] = $answer;
        }
    }

    private function fail(string $why): BulkheadUnavailableException
    {
        $this->wire->close();
        return new BulkheadUnavailableException("Cannot use the bulkheads at {$this->path}: $why");
    }
}
