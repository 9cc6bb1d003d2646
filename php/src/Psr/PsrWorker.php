<?php

declare(strict_types=1);

namespace Fairlead\Psr;

use Fairlead\Request;
use Fairlead\Response;
use Fairlead\UploadedFile;
use Fairlead\Worker;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Message\ServerRequestFactoryInterface;
use Psr\Http\Message\ServerRequestInterface;
use Psr\Http\Message\StreamFactoryInterface;
use Psr\Http\Message\UploadedFileFactoryInterface;
use Psr\Http\Message\UploadedFileInterface;
use Psr\Http\Server\RequestHandlerInterface;

/**
 * Runs PSR-15 handlers, with any PSR-17 factories.
 *
 *     $factory = new Nyholm\Psr7\Factory\Psr17Factory();
 *     (new Fairlead\Psr\PsrWorker($factory, $factory, $factory))->serve($app);
 *
 * Handlers find the Fairlead\Request in the attribute `Fairlead\Request`, for clientGone() and timeLeft().
 */
final class PsrWorker
{
    /** Bytes of a response body up to which it is sent in one piece. */
    private const PIECE = 65536;

    private readonly Worker $worker;

    public function __construct(
        private readonly ServerRequestFactoryInterface $requests,
        private readonly StreamFactoryInterface $streams,
        private readonly UploadedFileFactoryInterface $uploads,
        ?Worker $worker = null,
    ) {
        $this->worker = $worker ?? Worker::create();
    }

    /** Answers requests until there are no more; see Worker::serve(). */
    public function serve(RequestHandlerInterface $handler): void
    {
        $this->worker->serve(
            fn (Request $request): Response => $this->toFairlead($handler->handle($this->toPsr($request))),
        );
    }

    /** As Worker::next(). */
    public function next(): ?ServerRequestInterface
    {
        $request = $this->worker->next();
        return $request === null ? null : $this->toPsr($request);
    }

    /** As Worker::respond(). */
    public function respond(ResponseInterface $response): void
    {
        $answer = $this->toFairlead($response);
        unset($response);
        $this->worker->respond($answer->status, $answer->headers, $answer->body);
    }

    public function toPsr(Request $request): ServerRequestInterface
    {
        $psr = $this->requests->createServerRequest($request->method, $request->uri(), $request->server);
        foreach ($request->headers() as $name => $value) {
            $psr = $psr->withHeader($name, $value);
        }
        $protocol = $request->server['SERVER_PROTOCOL'] ?? '';
        if (is_string($protocol) && str_starts_with($protocol, 'HTTP/')) {
            $psr = $psr->withProtocolVersion(substr($protocol, 5));
        }
        $files = $request->files();
        $post = $request->post();
        $psr = $psr
            ->withCookieParams($request->cookies())
            ->withQueryParams($request->query())
            ->withUploadedFiles($this->files($files))
            ->withBody($this->streams->createStreamFromResource($request->bodyStream()))
            ->withAttribute(Request::class, $request);
        return $request->isForm() ? $psr->withParsedBody($post) : $psr;
    }

    public function toFairlead(ResponseInterface $response): Response
    {
        $body = $response->getBody();
        $size = $body->getSize();
        /** @var array<int|string, array<string>> $headers */
        $headers = $response->getHeaders();
        return new Response(
            $response->getStatusCode(),
            $headers,
            $size !== null && $size <= self::PIECE ? (string) $body : self::pieces($body),
        );
    }

    /** @return iterable<string> */
    private static function pieces(\Psr\Http\Message\StreamInterface $body): iterable
    {
        if ($body->isSeekable()) {
            $body->rewind();
        }
        while (!$body->eof()) {
            yield $body->read(self::PIECE);
        }
    }

    /**
     * @param array<int|string, mixed> $tree
     * @return array<int|string, mixed>
     */
    private function files(array $tree): array
    {
        return array_map(
            fn (mixed $file): mixed => $file instanceof UploadedFile
                ? $this->file($file)
                : (is_array($file) ? $this->files($file) : $file),
            $tree,
        );
    }

    private function file(UploadedFile $file): UploadedFileInterface
    {
        $stream = $file->isValid() ? $this->streams->createStreamFromFile($file->path) : $this->streams->createStream();
        return $this->uploads->createUploadedFile($stream, $file->size, $file->error, $file->name, $file->type);
    }
}
