<?php

declare(strict_types=1);

namespace Fairlead\Worker\Fork;

/**
 * Ends a forked child once PHP has ended its request, and before PHP takes itself apart: that would write to most of the
 * memory that the child shares with its parent, and each page written to is copied first. That costs many times the fork.
 *
 * A stream of this class is the first one that the child opens, so PHP closes it last of the child's own: after the shutdown
 * functions, destructors, output buffers, the session and every other file of the request. Files and sockets that are open
 * since the boot are the parent's and stay as they are. What is left out is what an extension does only when it frees an
 * object that was alive to the very end: a database is not told of the end of its connection (it sees it), libcurl does not
 * write its cookie jar.
 *
 * @internal
 */
final class QuickEnd
{
    /** How a child ends that has done all it had to; its parent takes it for exit code 0. */
    public const SIGNAL = SIGUSR2;

    private const SCHEME = 'fairlead-end';

    /** @var resource|null */
    public $context;

    /** @var resource|false */
    private static $stream = false;
    private static int $pid = 0;

    /** Arms it for the calling process; without the posix extension the process ends as any other. */
    public static function arm(): void
    {
        if (!function_exists('posix_kill')) {
            return;
        }
        self::$pid = (int) getmypid();
        stream_wrapper_register(self::SCHEME, self::class);
        self::$stream = fopen(self::SCHEME . '://', 'r');
        stream_wrapper_unregister(self::SCHEME);
    }

    public function stream_open(string $path, string $mode, int $options, ?string &$opened): bool
    {
        return true;
    }

    public function stream_close(): void
    {
        // A process that the request has forked ends as PHP does.
        if (getmypid() !== self::$pid) {
            return;
        }
        pcntl_signal(self::SIGNAL, SIG_DFL);
        posix_kill(self::$pid, self::SIGNAL);
        posix_kill(self::$pid, SIGKILL);
    }
}
