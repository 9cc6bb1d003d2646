<?php

/** How a Symfony response is handed to a worker protocol that takes headers and a body apart. */

declare(strict_types=1);

use Symfony\Component\HttpFoundation\BinaryFileResponse;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpFoundation\StreamedResponse;

/** @return array{int, array<string, list<string>>, string} */
function prepared(Response $response): array
{
    $body = $response->getContent();
    if ($response instanceof StreamedResponse || $response instanceof BinaryFileResponse) {
        $body = '';
        // What it prints, its flush() included: only a callback sees that.
        ob_start(static function (string $text) use (&$body): string {
            $body .= $text;
            return '';
        });
        $response->sendContent();
        ob_end_clean();
    }
    return [$response->getStatusCode(), $response->headers->allPreserveCase(), (string) $body];
}
