<?php

declare(strict_types=1);

namespace Fairlead;

use Closure;
use Fairlead\Internal\Body;
use Fairlead\Internal\Connection;
use Fairlead\Internal\Head;
use Fairlead\Internal\LogLine;
use Fairlead\Internal\Names;
use Fairlead\Internal\RequestHead;
use Fairlead\Worker\Fork\QuickEnd;
use InvalidArgumentException;
use LogicException;
use RuntimeException;
use Throwable;

/**
 * This process, as Fairlead uses it: it boots the application once and answers one request after the other.
 *
 *     $worker = Fairlead\Worker::create();
 *     while ($request = $worker->next()) {
 *         $worker->respond(200, ['Content-Type' => 'text/plain'], "Hello {$request->path}\n");
 *     }
 *
 * Fairlead takes it for booted when it first asks for a request. What it prints (`echo`, `var_dump`) is no response: it goes to
 * the server's log, as its errors do.
 */
final class Worker
{
    private static ?self $instance = null;

    private ?Connection $connection = null;
    /** Of the process that speaks with Fairlead: a child that the application forks has nothing to say there. */
    private int $pid = 0;
    /** The request whose response is not whole. */
    private ?Request $running = null;
    /** Whether a part of its response has been sent. */
    private bool $begun = false;
    /** Whether Fairlead still waits to hear that this process is free. */
    private bool $busy = false;
    private bool $leaving = false;
    /** Whether it has told the script that there are no more requests. */
    private bool $over = false;
    /** Whether it answers one request only. */
    private readonly bool $forked;
    /** On its way to the client: held nowhere else, so that a generator ends when it is dropped. */
    private mixed $body = null;

    private function __construct()
    {
        $this->forked = getenv('FAIRLEAD_ISOLATION') === 'fork';
    }

    /** Whether this process was started by Fairlead as a worker. */
    public static function available(): bool
    {
        return self::$instance !== null || (getenv('FAIRLEAD_WORKER') === '1'
            && getenv('FAIRLEAD_SOCKET') !== false && getenv('FAIRLEAD_TOKEN') !== false);
    }

    /**
     * The worker that this process is: always the same.
     *
     * @throws RuntimeException when Fairlead has not started it
     */
    public static function create(): self
    {
        if (self::$instance === null) {
            if (!self::available()) {
                throw new RuntimeException(
                    'Expected to be started by Fairlead as a worker: set it as the script of a pool with engine = "worker"',
                );
            }
            // Now, before there are forks to load them again, or a deploy has taken them away.
            $classes = [Body::class, Connection::class, Head::class, LogLine::class, Names::class, RequestHead::class];
            foreach ([...$classes, Request::class, Response::class, UploadedFile::class] as $class) {
                class_exists($class);
            }
            self::$instance = new self();
        }
        return self::$instance;
    }

    /**
     * Waits for the next request; null when there will be none and the script should end. A request that was not answered gets
     * a 500.
     */
    public function next(): ?Request
    {
        if ($this->running !== null) {
            $this->log('error', "No response was given to {$this->running->method} {$this->running->path}");
            $this->fail();
        }
        $connection = $this->connection;
        if ($connection === null) {
            $connection = $this->connect();
        } elseif ($this->forked) {
            $this->over = true;
            return null;
        } elseif ($this->busy) {
            $this->busy = false;
            $connection->send(Connection::REPLY, Connection::READY);
        }
        $received = $connection->nextRequest();
        if ($received === null) {
            return null;
        }
        $this->busy = true;
        $this->begun = false;
        return $this->running = new Request($received[0], $received[1], $connection);
    }

    /**
     * Answers the request. The response is over when this returns, and the client has it: what follows is work behind it, and
     * the process counts as busy until next().
     *
     * A body that is iterable is sent piece by piece, each at once; so is a resource, in pieces of 64 KB. The status and the headers
     * go with the first piece: an empty one sends them alone. When the client has left, no more is asked of a generator, and it is
     * dropped: its finally blocks run.
     *
     * @param array<int|string, string|int|float|array<string|int|float>> $headers
     * @param string|\Stringable|iterable<mixed, string|\Stringable>|resource $body
     * @throws InvalidArgumentException for a status or a header that HTTP does not have; nothing has been sent then
     * @throws LogicException when no request waits for its response
     */
    public function respond(int $status = 200, array $headers = [], mixed $body = ''): void
    {
        $this->body = $body;
        unset($body);
        $this->answer($status, $headers, 0);
    }

    /**
     * Sends an informational response (103 Early Hints) before the final one.
     *
     * @param array<int|string, string|int|float|array<string|int|float>> $headers mostly `Link`
     */
    public function early(array $headers): void
    {
        $connection = $this->expectRequest();
        if ($this->begun) {
            throw new LogicException('Expected early headers before the response, not in it');
        }
        $connection->send(Connection::EARLY, 0, Head::early($headers));
    }

    /** Asks Fairlead to replace this process once its successor has booted. Until next() returns null there may be requests. */
    public function stop(): void
    {
        if (!$this->leaving && !$this->forked && $this->connection !== null) {
            $this->leaving = true;
            $this->connection->send(Connection::LEAVING, 0);
        }
    }

    /**
     * Answers requests until there are no more.
     *
     * The handler returns a Response, or only its body, as in respond(); or it calls respond() itself, and returns null. What it
     * throws is logged and answered with 500; a response that had begun is cut off, so that no client takes it for whole.
     *
     * @param callable(Request): mixed $handler
     * @param null|callable(Request): void $after is called when the client has the response
     */
    public function serve(callable $handler, ?callable $after = null): void
    {
        $handler = Closure::fromCallable($handler);
        // Without anything to do behind it, the process is free with the end of the response.
        $flags = $after === null ? Connection::READY : 0;
        while (($request = $this->next()) !== null) {
            try {
                $this->body = $handler($request);
                $status = 200;
                $headers = [];
                if ($this->body instanceof Response) {
                    $status = $this->body->status;
                    $headers = $this->body->headers;
                    $this->body = $this->body->body;
                }
                if ($this->body !== null || $this->running !== null) {
                    $this->answer($status, $headers, $flags);
                }
            } catch (Throwable $error) {
                $this->failed($error);
                unset($error);
            }
            if ($after !== null) {
                try {
                    $after($request);
                } catch (Throwable $error) {
                    $this->failed($error);
                    unset($error);
                }
            }
            unset($request);
        }
    }

    /**
     * Writes to the server's log, with the request's id; before the first request, to stderr.
     *
     * @param string $level debug, info, warn or error
     * @param array<int|string, mixed> $context what JSON can have
     */
    public function log(string $level, string $message, array $context = []): void
    {
        if ($this->running !== null) {
            $context += ['request_id' => $this->running->id];
        }
        $payload = LogLine::write($level, $message, $context);
        if ($this->connection !== null) {
            $this->connection->send(Connection::LOG, 0, $payload);
        } else {
            // error_log() would add its own marks, and may lead elsewhere.
            file_put_contents('php://stderr', strtr(substr($payload, 1), "\0", ' ') . "\n");
        }
    }

    private function connect(): Connection
    {
        $address = (string) getenv('FAIRLEAD_SOCKET');
        $token = (string) getenv('FAIRLEAD_TOKEN');
        // What the application starts must not come for our requests.
        putenv('FAIRLEAD_TOKEN');
        register_shutdown_function($this->end(...));
        if ($this->forked) {
            if (!function_exists('fairlead_fork')) {
                require __DIR__ . '/../runtime/fork.php';
            }
            self::rehearse();
            // The parent stays there for as long as it lives; each of its children comes back.
            $this->connection = new Connection(fairlead_fork($address, $token), true);
        } else {
            $this->connection = Connection::open($address, $token);
        }
        $this->pid = (int) getmypid();
        return $this->connection;
    }

    /**
     * A request that nobody sees, in a process that will fork: what PHP keeps of code that has run once, its children find in
     * place, and need not write to memory that they share.
     */
    private static function rehearse(): void
    {
        $pair = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        if ($pair === false) {
            return;
        }
        $head = "GET\0/\0\0\0REQUEST_METHOD\nREQUEST_URI";
        fwrite($pair[1], pack('VCCvVV', strlen($head) + 4, 2, 0, 0, 1, strlen($head)) . $head);
        $connection = new Connection($pair[0], true);
        $received = $connection->nextRequest();
        if ($received !== null) {
            $request = new Request($received[0], $received[1], $connection);
            $text = $request->method . $request->path . $request->id;
            $connection->send(Connection::REPLY, Connection::LAST, Head::write(200, ['Content-Type' => 'text/plain']) . $text);
        }
    }

    private function expectRequest(): Connection
    {
        if ($this->running === null || $this->connection === null) {
            throw new LogicException('Expected a request that waits for its response: there is one response to each next()');
        }
        return $this->connection;
    }

    /**
     * Sends what is in $this->body.
     *
     * @param array<int|string, string|int|float|array<string|int|float>> $headers
     */
    private function answer(int $status, array $headers, int $flags): void
    {
        $body = $this->body;
        $this->body = null;
        $connection = $this->expectRequest();
        /** @var Request $request */
        $request = $this->running;
        $bare = $request->method === 'HEAD';
        if (is_string($body) || $body instanceof \Stringable) {
            $text = (string) $body;
            // An application that leaves out the body by itself has not said how long that of a GET is.
            $head = Head::write($status, $headers, $bare && $text !== '' ? strlen($text) : null);
            $this->last($connection, $flags, $bare ? $head : $head . $text);
            return;
        }
        $pieces = Body::pieces($body);
        unset($body);
        $head = Head::write($status, $headers);
        foreach ($bare ? [] : $pieces as $piece) {
            $piece = $head . Body::text($piece);
            if ($piece !== '') {
                $this->begun = true;
                $connection->send(Connection::REPLY, 0, $piece);
                $head = '';
            }
            if ($request->clientGone()) {
                break;
            }
        }
        unset($pieces);
        $this->last($connection, $flags, $head);
    }

    private function last(Connection $connection, int $flags, string $payload): void
    {
        $this->running = null;
        $this->begun = true;
        $this->busy = ($flags & Connection::READY) === 0 || $this->forked;
        $connection->send(Connection::REPLY, Connection::LAST | ($this->busy ? 0 : $flags), $payload);
    }

    /** The application has thrown this. */
    private function failed(Throwable $error): void
    {
        $this->body = null;
        $this->log('error', 'Uncaught ' . $error);
        if ($this->running !== null) {
            $this->fail();
        }
    }

    /** Ends the response to the running request: as an error, or as one that breaks off. */
    private function fail(): void
    {
        $connection = $this->expectRequest();
        $this->running = null;
        if ($this->begun) {
            $connection->send(Connection::REPLY, Connection::CUT);
        } else {
            $head = Head::write(500, ['Content-Type' => 'text/plain; charset=UTF-8', 'Cache-Control' => 'no-store']);
            $connection->send(Connection::REPLY, Connection::LAST, "{$head}Internal Server Error\n");
        }
    }

    /** The script has ended. */
    private function end(): void
    {
        if ($this->connection === null || !$this->busy || getmypid() !== $this->pid) {
            return;
        }
        // A fatal error is told by the exit code; exit() in a request is an end like any other.
        $fatal = ((error_get_last()['type'] ?? 0) & (E_ERROR | E_PARSE | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR)) !== 0;
        if (!$fatal && !$this->forked) {
            $this->connection->send(Connection::LEAVING, 0);
        }
        if ($this->forked && !$this->over) {
            // What exit() gave PHP as its code only PHP can tell.
            $fatal || $this->running !== null ? QuickEnd::inFull() : QuickEnd::exited();
        }
        if ($this->running !== null) {
            if (!$fatal) {
                $this->log('error', "The script ended in {$this->running->method} {$this->running->path}");
            }
            $this->fail();
        }
    }
}
