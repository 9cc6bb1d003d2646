<?php

declare(strict_types=1);

namespace Fairlead\Worker\Fork;

use RuntimeException;

/**
 * A booted process that answers nothing itself: for every FORK it is sent it forks a child, which answers one request and
 * ends. So the boot is paid once, and no request sees what another has left behind.
 *
 * Its connection to Fairlead carries FORK, STOP, ENDED and LOG; the frames are told in PROTOCOL.md of Fairlead's native plugin.
 *
 * @internal Call `fairlead_fork()`.
 */
final class Forker
{
    private const HELLO = 1;
    private const STOP = 6;
    private const FORK = 8;
    private const LOG = 9;
    private const ENDED = 10;

    private const WARN = 2;
    /** The exit code of a child that nobody knows. */
    private const UNKNOWN = 0xFFFF_FFFF;

    /** Seconds after which ended children are looked for, should their signal have come at a bad time. Fairlead repeats it when it misses an end. */
    private const LOOK_AGAIN = 1;

    /** @var resource|null */
    private $socket = null;
    /** @var resource|null The connection of the child that is forked next: the child's own, once it runs. */
    private $next = null;
    private string $address = '';
    private string $unread = '';
    /** @var array<int, string> The token of each child, by its pid. */
    private array $children = [];
    private bool $stopping = false;
    private readonly int $pid;
    /** What the application had set, for its children to have again. */
    private readonly bool $asyncSignals;
    /** @var array<int, mixed> */
    private array $handlers = [];
    /** @var array<int, \Closure> What this process does on these signals. */
    private array $ours = [];
    private readonly int $timeLimit;

    private static ?self $self = null;

    private function __construct()
    {
        $this->pid = (int) getmypid();
        $this->timeLimit = (int) ini_get('max_execution_time');
        $this->asyncSignals = pcntl_async_signals();
    }

    /**
     * Serves as the parent until it ends; returns in every child, with its connection: the hello has been said.
     *
     * @return resource
     * @throws RuntimeException when this PHP cannot fork, or Fairlead cannot be reached
     */
    public static function serve(string $address, string $token)
    {
        foreach (['fork', 'waitpid', 'signal', 'signal_get_handler', 'async_signals', 'sigprocmask'] as $name) {
            if (!function_exists("pcntl_$name")) {
                $why = extension_loaded('pcntl')
                    ? "disable_functions has pcntl_$name"
                    : 'it has no pcntl extension';
                throw new RuntimeException(
                    "Cannot fork with PHP " . PHP_VERSION . ' (' . PHP_SAPI . "): $why; "
                    . 'allow it, or set isolation = "none"',
                );
            }
        }
        // Held to the end: a child does not write to the memory of what it does not take apart.
        self::$self = new self();
        self::$self->connect($address, $token);
        self::$self->settle();
        return self::$self->run();
    }

    private function connect(string $address, string $token): void
    {
        $this->address = $address;
        $socket = $this->dial($why);
        if ($socket === false) {
            throw new RuntimeException("Cannot connect to Fairlead at $address: $why");
        }
        $this->socket = $socket;
        $this->hello($socket, ['token' => $token, 'pid' => $this->pid, 'role' => 'parent']);
        $this->warnOfSockets();
    }

    /** @return resource|false */
    private function dial(?string &$why)
    {
        $socket = @stream_socket_client("unix://$this->address", $code, $why, 10);
        if ($socket !== false) {
            stream_set_blocking($socket, true);
        }
        return $socket;
    }

    /**
     * @param resource $socket
     * @param array<string, string|int> $who
     */
    private function hello($socket, array $who): void
    {
        $hello = serialize(['v' => 1, 'php' => PHP_VERSION, 'sapi' => PHP_SAPI] + $who);
        @fwrite($socket, pack('VCCvV', strlen($hello), self::HELLO, 0, 0, 0) . $hello);
    }

    /** Makes forks cheap, and this process fit to live long. */
    private function settle(): void
    {
        // Forking is on the clock of max_execution_time, serving is not.
        if ($this->timeLimit > 0 && function_exists('set_time_limit')) {
            @set_time_limit(0);
        }
        pcntl_async_signals(true);
        foreach ([SIGCHLD, SIGTERM] as $signal) {
            $this->handlers[$signal] = pcntl_signal_get_handler($signal);
        }
        // Does nothing but wake stream_select.
        $this->ours[SIGCHLD] = static function (): void {};
        $this->ours[SIGTERM] = function (): void {
            $this->killChildren();
            exit(128 + SIGTERM);
        };
        $this->handle($this->ours);
        QuickEnd::arm();
        clearstatcache();
        // What is garbage now would be copied, and collected, by each child.
        gc_collect_cycles();
        gc_mem_caches();
        // The first memory of a size that a child takes would have it write to several pages: they are made ready here.
        $sizes = [];
        for ($size = 32; $size <= 3072; $size += max(8, 1 << max(0, (int) log($size, 2) - 2))) {
            $sizes[] = str_repeat(' ', $size - 25);
        }
    }

    /** @param array<int, mixed> $handlers */
    private function handle(array $handlers): void
    {
        foreach ($handlers as $signal => $handler) {
            pcntl_signal($signal, $handler);
        }
    }

    /** @return resource */
    private function run()
    {
        while (true) {
            $this->reap();
            if ($this->stopping && $this->children === []) {
                exit(0);
            }
            foreach ($this->receive() as [$type, $payload]) {
                if ($type === self::STOP) {
                    $this->stopping = true;
                } elseif ($type === self::FORK && strlen($payload) === 32) {
                    if ($this->fork($payload)) {
                        return $this->next;
                    }
                } else {
                    // It is not Fairlead that speaks, or another version of it.
                    $this->killChildren();
                    throw new RuntimeException("Expected FORK or STOP from Fairlead, received a frame of type $type");
                }
            }
        }
    }

    /**
     * Waits for frames, or for the end of a child.
     *
     * @return list<array{int, string}>
     */
    private function receive(): array
    {
        $read = [$this->socket];
        $none = null;
        // A signal is told as a failure.
        $ready = @stream_select($read, $none, $none, self::LOOK_AGAIN);
        if ($ready === false || $ready === 0) {
            return [];
        }
        $bytes = @fread($this->socket, 65536);
        if ($bytes === '' || $bytes === false) {
            // Nobody reads the answers of its children any more.
            $this->killChildren();
            exit(0);
        }
        $this->unread .= $bytes;
        $frames = [];
        while (strlen($this->unread) >= 12) {
            ['length' => $length, 'type' => $type] = unpack('Vlength/Ctype', $this->unread);
            if ($length > 65536) {
                $frames[] = [$type, ''];
                break;
            }
            if (strlen($this->unread) < 12 + $length) {
                break;
            }
            $frames[] = [$type, substr($this->unread, 12, $length)];
            $this->unread = substr($this->unread, 12 + $length);
        }
        return $frames;
    }

    /**
     * True in the child. All that can be done for it is done here, before and after: the child pays for each page that it is the
     * first to touch, code as well as data, and for a page it writes to with a copy.
     */
    private function fork(string $token): bool
    {
        $socket = $this->dial($why);
        if ($socket === false) {
            $this->ended($token, 0, 0, 0, "Cannot connect to Fairlead at $this->address: $why");
            return false;
        }
        $this->next = $socket;
        QuickEnd::before($socket);
        // The random numbers of lcg_value() and uniqid() cannot be seeded: each child begins further on in their row.
        for ($i = 0; $i < 64; $i++) {
            PHP_VERSION_ID < 80400 ? lcg_value() : uniqid('', true);
        }
        // It takes along the state of mt_rand() and its kin.
        mt_srand();
        // No handler of this process may run in the child.
        pcntl_sigprocmask(SIG_BLOCK, [SIGCHLD, SIGTERM], $mask);
        $this->handle($this->handlers);
        pcntl_async_signals($this->asyncSignals);
        $pid = @pcntl_fork();
        if ($pid === 0) {
            fclose($this->socket);
            pcntl_sigprocmask(SIG_SETMASK, $mask);
            if ($this->timeLimit > 0 && function_exists('set_time_limit')) {
                @set_time_limit($this->timeLimit);
            }
            return true;
        }
        pcntl_async_signals(true);
        $this->handle($this->ours);
        pcntl_sigprocmask(SIG_SETMASK, $mask);
        if ($pid > 0) {
            $this->children[$pid] = $token;
            // A group of its own: what a request has started can be ended with it, and with nothing else. There is no request
            // before the hello.
            if (function_exists('posix_setpgid')) {
                @posix_setpgid($pid, $pid);
            }
            $this->hello($socket, ['token' => $token, 'pid' => $pid, 'parent' => $this->pid]);
        } else {
            $this->ended($token, 0, 0, 0, 'Cannot fork: ' . pcntl_strerror(pcntl_get_last_error()));
        }
        fclose($socket);
        return false;
    }

    /** Takes the ends of children, and tells them. */
    private function reap(): void
    {
        while (($pid = pcntl_waitpid(-1, $status, WNOHANG)) > 0) {
            $token = $this->children[$pid] ?? null;
            if ($token === null) {
                continue; // something the application had started
            }
            unset($this->children[$pid]);
            $code = pcntl_wifexited($status) ? pcntl_wexitstatus($status) : 0;
            $signal = pcntl_wifsignaled($status) ? pcntl_wtermsig($status) : 0;
            if ($signal === QuickEnd::DONE || $signal === QuickEnd::EXITED) {
                $code = $signal === QuickEnd::DONE ? 0 : self::UNKNOWN;
                $signal = 0;
            }
            $this->ended($token, $pid, $code, $signal, '');
        }
    }

    private function ended(string $token, int $pid, int $code, int $signal, string $why): void
    {
        $this->send(self::ENDED, $token . pack('VVV', $pid, $code, $signal) . $why);
    }

    private function killChildren(): void
    {
        foreach (array_keys($this->children) as $pid) {
            if (function_exists('posix_kill')) {
                @posix_kill(-$pid, SIGKILL);
                @posix_kill($pid, SIGKILL);
            }
        }
    }

    private function log(int $level, string $message): void
    {
        $this->send(self::LOG, chr($level) . $message);
    }

    private function send(int $type, string $payload): void
    {
        // A connection that is gone is noticed by its reader.
        @fwrite($this->socket, pack('VCCvV', strlen($payload), $type, 0, 0, 0) . $payload);
    }

    /** A connection that is open now is shared by all children: what one asks, another may read. */
    private function warnOfSockets(): void
    {
        $sockets = [];
        foreach (@scandir('/proc/self/fd') ?: [] as $fd) {
            // What Fairlead gave it as stdin, stdout and stderr may be sockets.
            if ((int) $fd > 2 && sscanf((string) @readlink("/proc/self/fd/$fd"), 'socket:[%d]', $inode) === 1) {
                $sockets[$inode] = true;
            }
        }
        // One that listens is Fairlead's: some JavaScript runtimes hand it down to the processes they start.
        foreach (@file('/proc/net/unix') ?: [] as $line) {
            if (sscanf($line, '%s %s %s %s %s %s %d', $_, $_, $_, $flags, $_, $_, $inode) === 7 && $flags === '00010000') {
                unset($sockets[$inode]);
            }
        }
        $count = count($sockets) - 1; // our own
        if ($count > 0) {
            $what = $count === 1 ? 'a socket' : "$count sockets";
            $this->log(self::WARN, "The application has left $what open behind its boot. All forked children share what is open "
                . 'then, and would mix up their conversations: connect in the request, or close before the first one');
        }
    }
}
