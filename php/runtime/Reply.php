<?php

declare(strict_types=1);

namespace Fairlead\Runtime;

use RuntimeException;
use Throwable;

/**
 * The answer to the running request: takes what the script prints, and sends it in frames.
 *
 * @internal
 */
final class Reply
{
    /** Bytes of output that are kept back at most. */
    private const KEPT = 65536;

    private static ?Connection $to = null;
    private static string $number = Connection::NONE;
    private static string $output = '';
    /** How many output buffers are not the script's. */
    private static int $base = 0;

    /** Bytes after which PHP's own buffer is flushed; 0 when it is not, -1 without one. */
    private static int $buffer = -1;

    /** Whether a buffer of the script's is there to stay. */
    public static bool $stuck = false;
    /** Whether the client has been sent the status and the headers. */
    public static bool $headSent = false;
    /** Whether every write goes out at once. */
    public static bool $implicitFlush = false;
    /** @var callable|null To be called before the headers are sent */
    public static $beforeHead = null;

    public static function boot(): void
    {
        // No script can change it.
        $size = (int) \ini_get('output_buffering');
        self::$buffer = $size > 0 ? ($size > 1 ? $size : 0) : -1;
    }

    /** Takes all output from here on: until a request begins, it is kept. */
    public static function captureOutput(): void
    {
        // PHP's own server API must see no output: it would take the headers for sent, and those of all later requests.
        \ob_start(static fn(): string => '', 0, 0);
        self::capture();
    }

    private static function capture(): void
    {
        // With a size of 1 every write comes at once, as without a buffer. The script cannot take this buffer away.
        \ob_start(self::take(...), 1, \PHP_OUTPUT_HANDLER_FLUSHABLE);
        self::$base = \count(\ob_list_handlers());
    }

    /** What has been printed outside of a request. */
    public static function takeStray(): string
    {
        $stray = self::$output;
        self::$output = '';
        return $stray;
    }

    public static function begin(Connection $to, string $number): void
    {
        self::$to = $to;
        self::$number = $number;
        self::$output = '';
        self::$headSent = false;
        self::$implicitFlush = false;
        self::$beforeHead = null;
    }

    /** Whether something was printed that has not been sent. */
    public static function hasOutput(): bool
    {
        return self::$output !== '';
    }

    /** PHP's own buffer, that each request has with the setting output_buffering. */
    public static function openBuffer(): void
    {
        if (self::$buffer >= 0) {
            \ob_start(null, self::$buffer);
        }
    }

    /** Whether the response can still be written to. */
    public static function isOpen(): bool
    {
        return self::$to !== null;
    }

    /** How many output buffers the script has opened. */
    public static function level(): int
    {
        return \max(0, \count(\ob_list_handlers()) - self::$base);
    }

    /** Gives up the script's output buffers: what is in them is printed. */
    public static function endBuffers(): void
    {
        $top = \ob_get_status();
        if ($top !== [] && $top['level'] < self::$base && ($top['flags'] & \PHP_OUTPUT_HANDLER_DISABLED) === 0) {
            return; // ours, and in order
        }
        while (($level = self::level()) > 0) {
            $thrown = null;
            try {
                if (!@\ob_end_flush() && self::level() === $level) {
                    // It does not let itself be removed, and would be in the way of all later requests.
                    self::$output .= \ob_get_contents();
                    self::$stuck = true;
                    self::capture();
                }
            } catch (Throwable $thrown) {
            }
            if (self::level() === 0) {
                self::captureAgain($thrown === null);
            }
            if ($thrown !== null) {
                Failure::report($thrown);
            }
        }
        self::captureAgain(true);
    }

    /** PHP disables all buffers that it cannot write to because the callback of one has thrown an exception. */
    private static function captureAgain(bool $tell): void
    {
        if (((\ob_get_status()['flags'] ?? 0) & \PHP_OUTPUT_HANDLER_DISABLED) === 0) {
            return;
        }
        self::capture();
        if ($tell) {
            Failure::report(new RuntimeException('The callback of an output buffer has thrown: what was printed since is lost'));
        }
    }

    /** Sends what there is. */
    public static function flush(): void
    {
        if (self::$to === null || (self::$output === '' && self::$headSent)) {
            return;
        }
        $payload = self::payload();
        self::$to->look();
        if (!self::$to->gone) {
            self::$to->send(Connection::REPLY, 0, self::$number, $payload);
        }
    }

    /** Sends the rest: the response is whole. */
    public static function finish(string $after = ''): void
    {
        if (self::$to === null) {
            return;
        }
        $payload = self::payload();
        $to = self::$to;
        self::$to = null;
        if ($to->gone) {
            $payload = '';
        }
        $to->send(Connection::REPLY, Connection::LAST, self::$number, $payload, $after);
    }

    /** Leaves the response as it is: what is not whole must not look whole. */
    public static function abandon(): void
    {
        self::$to = null;
    }

    /** An informational response, with the links that are among the headers. */
    public static function early(int $status): bool
    {
        if (self::$to === null || self::$headSent) {
            return false;
        }
        $head = "Status: $status\r\n";
        foreach (\headers_list() as $line) {
            if (\strncasecmp($line, 'Link:', 5) === 0) {
                $head .= "$line\r\n";
            }
        }
        self::$to->send(Connection::EARLY, 0, self::$number, "$head\r\n");
        return true;
    }

    private static function take(string $bytes, int $phase): string
    {
        if (self::$to === null && Loop::$reached) {
            return ''; // after the end of the response
        }
        self::$output .= $bytes;
        if (
            self::$to !== null && (
                \strlen(self::$output) >= self::KEPT || self::$implicitFlush ||
                ($phase & (\PHP_OUTPUT_HANDLER_FLUSH | \PHP_OUTPUT_HANDLER_FINAL)) === \PHP_OUTPUT_HANDLER_FLUSH
            )
        ) {
            self::flush();
        }
        return '';
    }

    private static function payload(): string
    {
        $payload = self::$headSent ? self::$output : self::head() . self::$output;
        self::$output = '';
        self::$headSent = true;
        return $payload;
    }

    private static function head(): string
    {
        if (self::$beforeHead !== null) {
            $callback = self::$beforeHead;
            self::$beforeHead = null;
            $callback();
        }
        $status = \http_response_code();
        $head = '';
        $typed = false;
        foreach (\headers_list() as $line) {
            $head .= "$line\r\n";
            if (!$typed && \strncasecmp($line, 'Content-Type:', 13) === 0) {
                $typed = true;
            } elseif ($status !== false && \strncasecmp($line, 'Status:', 7) === 0) {
                $status = false; // the script's own
            }
        }
        if ($status !== false && $status !== 200) {
            $head = "Status: $status\r\n$head";
        }
        if (!$typed && ($type = (string) \ini_get('default_mimetype')) !== '') {
            $charset = (string) \ini_get('default_charset');
            if ($charset !== '' && \strncasecmp($type, 'text/', 5) === 0) {
                $type .= "; charset=$charset";
            }
            $head .= "Content-type: $type\r\n";
        }
        return "$head\r\n";
    }
}
