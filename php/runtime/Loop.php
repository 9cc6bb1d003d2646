<?php

declare(strict_types=1);

namespace Fairlead\Runtime;

use Fairlead\Worker\Fork\QuickEnd;
use LogicException;
use ReflectionFunction;
use RuntimeException;
use Throwable;

/**
 * The life of a worker: boot, requests one after another, the end.
 *
 * @internal
 */
final class Loop
{
    /** Requests after which garbage is collected, should PHP not have found it necessary. */
    private const COLLECT_EVERY = 100;

    private static bool $worker = false;
    private static ?Connection $connection = null;
    private static bool $forked = false;
    /** Number of the running request, or of the last one while Fairlead has not heard that another may follow; else NONE. */
    private static string $number = Connection::NONE;
    private static bool $running = false;
    private static bool $ended = false;
    private static int $served = 0;
    /** When (ns) the clock of max_execution_time was set. */
    private static int $clockSet = 0;
    /** Of the process that speaks with Fairlead: a child that the application forks has nothing to say there. */
    private static int $pid = 0;
    /** Memory for the last words of a process that has used up its own. */
    private static ?string $reserve = null;

    /** Setting expose_php, which no script can change. */
    private static bool $exposed = false;
    private static bool $left = false;
    /** Ends with the process: an exit() in a shutdown function keeps PHP from calling those behind it. */
    private static ?object $end = null;

    /** Whether the script has asked for a request. */
    public static bool $reached = false;

    /** Makes this process a worker, before its script runs. */
    public static function boot(): void
    {
        self::$worker = true;
        self::$reserve = \str_repeat("\0", 65536);
        \ignore_user_abort(true);
        Superglobals::boot();
        // As FrankenPHP does, a script starts in the root of its application: php-cgi has gone to the folder of the script.
        $root = \getenv('FAIRLEAD_ROOT');
        if (\is_string($root) && @\chdir($root)) {
            \putenv('FAIRLEAD_ROOT');
        }
        Reply::captureOutput();
        self::$end = new class {
            public function __destruct()
            {
                Loop::leave();
            }
        };
        \register_shutdown_function(static function (): void {
            self::$reserve = null;
            // After the script's own, which may still print.
            \register_shutdown_function(self::leave(...));
        });
    }

    /** See frankenphp_handle_request(). */
    public static function handle(callable $callback): bool
    {
        if (!self::$worker) {
            throw new RuntimeException('frankenphp_handle_request() called while not in worker mode');
        }
        if (self::$running) {
            throw new LogicException('frankenphp_handle_request() called while a request is being handled');
        }
        if (self::$ended || Reply::$stuck || (self::$forked && self::$served > 0)) {
            return false;
        }
        $connection = self::$connection ?? self::connect();
        if (self::$served > 0) {
            if (self::$served % self::COLLECT_EVERY === 0) {
                \gc_collect_cycles();
            }
            // Only now is it sure that the script goes on.
            $connection->send(Connection::REPLY, Connection::READY, self::$number);
            self::$number = Connection::NONE;
            Settings::restore();
        }
        $request = self::await($connection);
        if ($request === null) {
            self::$ended = true;
            return false;
        }
        self::begin($connection, $request[0], $request[1]);
        try {
            $callback();
        } catch (Throwable $e) {
            Failure::report($e);
        }
        self::end();
        return true;
    }

    /** Whether the client of the running request has left. */
    public static function clientHasLeft(): bool
    {
        if (!self::$running || self::$connection === null) {
            return false;
        }
        if (!self::$connection->gone) {
            self::$connection->look();
        }
        return self::$connection->gone;
    }

    /** See frankenphp_log(); false when there is nobody to tell. */
    public static function log(int $level, string $message, string $context): bool
    {
        self::$connection?->send(
            Connection::LOG,
            0,
            self::$running ? self::$number : Connection::NONE,
            \chr($level) . \str_replace("\0", '', $message) . ($context === '' ? '' : "\0$context"),
        );
        return self::$connection !== null;
    }

    private static function connect(): Connection
    {
        self::$reached = true;
        $stray = \trim(Reply::takeStray());
        if ($stray !== '') {
            \file_put_contents('php://stderr', "$stray\n");
        }
        self::$exposed = (bool) \ini_get('expose_php');
        Settings::boot();
        Session::boot();
        Reply::boot();
        \header_remove();
        self::$forked = \getenv('FAIRLEAD_ISOLATION') === 'fork';
        if (self::$forked) {
            require_once __DIR__ . '/fork.php';
            QuickEnd::ignore(\get_class((object) self::$end));
        }
        $address = (string) \getenv('FAIRLEAD_SOCKET');
        $token = (string) \getenv('FAIRLEAD_TOKEN');
        // What the application starts must not come for our requests.
        \putenv('FAIRLEAD_TOKEN');
        Settings::keepEnvironment();
        if (self::$forked) {
            self::rehearse();
            // Only children get past here.
            self::$connection = new Connection(\fairlead_fork($address, $token));
        } else {
            self::$connection = Connection::open($address, $token);
            self::warnOfFunctions();
        }
        self::$pid = (int) \getmypid();
        return self::$connection;
    }

    /**
     * A request that nobody sees, in a process that will fork: what PHP keeps of code that has run once, its children find in
     * place, and need not write to memory that they share.
     */
    private static function rehearse(): void
    {
        $pair = \stream_socket_pair(\STREAM_PF_UNIX, \STREAM_SOCK_STREAM, 0);
        if ($pair === false) {
            return;
        }
        $before = [$_SERVER, $_GET, $_POST, $_FILES, $_COOKIE, $_REQUEST];
        $head = "GET\0\0\0REQUEST_METHOD";
        \fwrite($pair[1], \pack('VCx3VV', \strlen($head) + 4, Connection::REQUEST, 1, \strlen($head)) . $head);
        $connection = new Connection($pair[0]);
        [$number, $payload] = self::await($connection) ?? [Connection::NONE, ''];
        Reply::begin($connection, $number);
        Superglobals::fill(RequestHead::ofPayload($payload, true)[0]);
        Reply::finish();
        self::startClock();
        [$_SERVER, $_GET, $_POST, $_FILES, $_COOKIE, $_REQUEST] = $before;
        Superglobals::$came = [];
    }

    private static function warnOfFunctions(): void
    {
        $names = \file(__DIR__ . '/disabled_functions.txt', \FILE_IGNORE_NEW_LINES) ?: [];
        $left = \array_filter($names, static fn(string $name): bool => \function_exists($name)
            && (new ReflectionFunction($name))->isInternal());
        if ($left !== []) {
            self::log(2, 'These functions will not know of requests, for disable_functions does not have them: '
                . \implode(', ', $left), '');
        }
    }

    private static function begin(Connection $connection, string $number, string $payload): void
    {
        self::$number = $number;
        self::$running = true;
        self::startClock();
        [$head, $body] = RequestHead::ofPayload($payload, self::$forked);
        Reply::begin($connection, $number);
        Reply::openBuffer();
        Superglobals::fill($head);
        Input::open($body, $head['input'] ?? null);
        if (self::$exposed) {
            \header('X-Powered-By: PHP/' . \PHP_VERSION);
        }
        Session::begin();
    }

    private static function end(): void
    {
        Reply::endBuffers();
        Session::close();
        Reply::finish();
        self::$running = false;
        self::$served++;
        if (self::$forked) {
            Files::forget();
        } else {
            self::tidy();
        }
    }

    private static function tidy(): void
    {
        Session::wipe();
        Input::close();
        Files::forget();
        if (\http_response_code() !== 200) {
            // The status first: a status line of the script's goes with it.
            \header('X-Fairlead: 1', true, 299);
            \header('X-Fairlead: 1', true, 200);
        }
        \header_remove();
        \clearstatcache();
        \error_clear_last();
        if (\function_exists('libxml_clear_errors')) {
            \libxml_clear_errors();
        }
        if (\function_exists('memory_reset_peak_usage')) {
            \memory_reset_peak_usage();
        }
    }

    /**
     * Each request has max_execution_time of its own. PHP counts CPU time from when the limit was set; setting it is dear,
     * so the clock goes on while it has run for less than a tenth of the limit.
     */
    private static function startClock(): void
    {
        $limit = (int) \ini_get('max_execution_time');
        $now = \hrtime(true);
        if ($limit > 0 && $now - self::$clockSet > $limit * 100_000_000) {
            \set_time_limit($limit);
            self::$clockSet = $now;
        }
    }

    /**
     * A thread-safe PHP counts the time that it waits, too.
     *
     * @return array{string, string}|null
     */
    private static function await(Connection $connection): ?array
    {
        $limit = \PHP_ZTS ? (int) \ini_get('max_execution_time') : 0;
        if ($limit <= 0) {
            return $connection->nextRequest();
        }
        \set_time_limit(0);
        $request = $connection->nextRequest();
        \set_time_limit($limit);
        return $request;
    }

    /** The end of the process, whatever led to it. */
    public static function leave(): void
    {
        if (self::$left || (self::$connection !== null && \getmypid() !== self::$pid)) {
            return;
        }
        self::$left = true;
        $running = self::$running;
        self::lastWords();
        if ($running && self::$forked) {
            self::isFatal() ? QuickEnd::inFull() : QuickEnd::exited();
        }
        // php-cgi ends with a head of its own, on stdout.
        \header_remove();
        \http_response_code(200);
        \ini_alter('default_mimetype', '');
    }

    /** Whether an error has ended the script. */
    private static function isFatal(): bool
    {
        return ((\error_get_last()['type'] ?? 0) & Failure::FATAL) !== 0;
    }

    private static function lastWords(): void
    {
        $fatal = self::isFatal();
        if (!self::$reached) {
            // It has failed to boot, or it is no worker script.
            $stray = \trim(Reply::takeStray());
            \file_put_contents('php://stderr', $fatal ? "$stray\n" : \ltrim(
                "$stray\nThe script has ended without a call of frankenphp_handle_request()\n",
            ));
            return;
        }
        if (self::$connection === null || self::$number === Connection::NONE) {
            return;
        }
        if (self::$running && !($fatal && Reply::$headSent)) {
            if ($fatal) {
                \http_response_code(500);
            }
            Reply::endBuffers();
            Session::close();
            if (Reply::isOpen()) {
                Reply::finish(Connection::empty(Connection::LEAVING, 0, self::$number));
                return;
            }
        }
        // What a fatal error has cut off must not look whole.
        Reply::abandon();
        self::$connection->send(Connection::LEAVING, 0, self::$number);
    }
}
