<?php

declare(strict_types=1);

namespace Fairlead\Worker\Fork;

/**
 * Ends a forked child as soon as nothing is left that PHP would have to do: PHP takes itself apart with writes to most of the
 * memory that the child shares with its parent, and each page written to is copied first. That costs many times the fork.
 *
 * - Behind the last shutdown function, when no class with a destructor is there, no buffer, no session, no file of the request.
 * - Else where PHP closes a stream of this class. It is the last one that the parent opens, so PHP closes it behind the child's
 *   own: after destructors, output buffers, the session and every other file of the request.
 *
 * Files and sockets that are open since the boot are the parent's and stay as they are. What is left out is what an extension
 * does only when it frees an object that was alive to the very end: a database is not told of the end of its connection (it
 * sees it), libcurl does not write its cookie jar.
 *
 * @internal
 */
final class QuickEnd
{
    /** How a child ends that has done all it had to; its parent takes it for exit code 0. */
    public const DONE = SIGUSR2;
    /** How one ends that exit() has ended: PHP does not tell with which code. */
    public const EXITED = SIGUSR1;

    private const SCHEME = 'fairlead-end';
    /** How often it goes to the end of the line of shutdown functions: those may register others, and these others. */
    private const LAST = 8;
    /** In the text of code from which a destructor may come: its own, or one in code that no file has. */
    private const SUSPECT = '~__destruct|\beval\s*(?:\(|/[*/]|#)~i';

    /** @var resource|null */
    public $context;

    /** @var resource|false */
    private static $stream = false;
    /** The process that forks; 0 while nothing is armed. */
    private static int $parent = 0;
    /** @var array<string, true> Classes without a destructor */
    private static array $plain = [];
    /** Files that were loaded before the fork, when none of them can bring a destructor any more, declared or evaluated; else -1 */
    private static int $files = -1;
    /** Whether what is left is not asked for. */
    private static bool $always = false;
    /** Whether a class with a destructor was there before the fork. */
    private static bool $destructors = false;
    private static int $buffers = 0;
    /** Number of the resource that is the child's connection. */
    private static int $connection = 0;
    private static int $signal = self::DONE;
    private static bool $inFull = false;

    /** Arms it for all children of the calling process; without the posix extension they end as any other process. */
    public static function arm(): void
    {
        $how = getenv('FAIRLEAD_FORK_END');
        if ($how === 'slow' || !function_exists('posix_kill') || !function_exists('posix_getppid')) {
            return;
        }
        self::$parent = (int) getmypid();
        self::$buffers = ob_get_level();
        self::$always = $how === 'quick';
        self::$destructors = !self::$always && self::findDestructor();
        if (!self::$destructors) {
            self::$files = self::countPlainFiles();
        }
        register_shutdown_function(self::last(...), 1);
        stream_wrapper_register(self::SCHEME, self::class);
        self::$stream = fopen(self::SCHEME . '://', 'r');
        stream_wrapper_unregister(self::SCHEME);
    }

    /** To be told before each fork. @param resource $connection the child's, opened last */
    public static function before($connection): void
    {
        self::$connection = get_resource_id($connection);
    }

    /** The destructor of this class does nothing behind shutdown functions. @param class-string $class */
    public static function ignore(string $class): void
    {
        self::$plain[$class] = true;
    }

    /** The request has been answered, and was ended by exit(). */
    public static function exited(): void
    {
        self::$signal = self::EXITED;
    }

    /** The request was not answered: PHP's own exit code is the one to tell. */
    public static function inFull(): void
    {
        self::$inFull = true;
    }

    private static function last(int $time): void
    {
        if (!self::here()) {
            return;
        }
        if ($time < self::LAST) {
            register_shutdown_function(self::last(...), $time + 1);
        } elseif (self::nothingIsLeft()) {
            self::end();
        }
    }

    private static function nothingIsLeft(): bool
    {
        if (ob_get_level() > self::$buffers) {
            return false;
        }
        if (function_exists('session_status') && session_status() === PHP_SESSION_ACTIVE) {
            return false;
        }
        return self::$always || (!self::$destructors && !self::hasStreams() && !self::mayHaveDestructor());
    }

    /** Whether the request has opened files, and not closed them. */
    private static function hasStreams(): bool
    {
        // Mostly it has opened nothing: then the next number is the connection's next.
        if (get_resource_id(stream_context_create()) === self::$connection + 1) {
            return false;
        }
        foreach (get_resources('stream') as $number => $stream) {
            if ($number > self::$connection) {
                return true;
            }
        }
        return false;
    }

    /** How many files are loaded, or -1 when one of them speaks of destructors, or of code that no file has. */
    private static function countPlainFiles(): int
    {
        $files = get_included_files();
        foreach ($files as $file) {
            // This one speaks of them, and the runtime has one that it tells of.
            $ours = $file === __FILE__ || $file === dirname(__DIR__, 2) . '/runtime/Loop.php';
            $text = $ours ? '' : @file_get_contents($file);
            if ($text === false || preg_match(self::SUSPECT, $text) !== 0) {
                return -1;
            }
        }
        return count($files);
    }

    /** PHP's list of classes has it look at each, and so at many pages of memory: dear in a child. */
    private static function mayHaveDestructor(): bool
    {
        return (self::$files < 0 || count(get_included_files()) !== self::$files) && self::findDestructor();
    }

    /** Looks at the classes that are new; those of extensions clean up what nobody else sees. */
    private static function findDestructor(): bool
    {
        foreach (get_declared_classes() as $class) {
            if (!isset(self::$plain[$class])) {
                self::$plain[$class] = true;
                if (method_exists($class, '__destruct') && (new \ReflectionClass($class))->isUserDefined()) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Whether this is a child that the parent has forked: what a request has forked ends as PHP does. */
    private static function here(): bool
    {
        return !self::$inFull && posix_getppid() === self::$parent && getmypid() !== self::$parent;
    }

    private static function end(): void
    {
        pcntl_signal(self::$signal, SIG_DFL);
        posix_kill((int) getmypid(), self::$signal);
        posix_kill((int) getmypid(), SIGKILL);
    }

    public function stream_open(string $path, string $mode, int $options, ?string &$opened): bool
    {
        return true;
    }

    public function stream_close(): void
    {
        if (self::here()) {
            self::end();
        }
    }
}
