<?php

/** RR_MODE=http, by hand. */

declare(strict_types=1);

namespace Lab;

require __DIR__ . '/common/Goridge.php';
require __DIR__ . '/lab.php';
is_file(__DIR__ . '/boot.php') && require __DIR__ . '/boot.php';

note('boots');
register_shutdown_function(static fn () => note('ends'));
$host = new \Common\Goridge();
while (($request = $host->next()) !== null) {
    [$context, $body] = $request;
    $path = (string) parse_url($context['uri'], PHP_URL_PATH);
    parse_str($context['rawQuery'] ?? '', $query);
    $headers = ['Content-Type' => [$path === '/sse' ? 'text/event-stream' : 'text/html; charset=UTF-8']];
    try {
        $answer = lab($path, $query, $body);
        is_string($answer) ? $host->respond(200, $headers, $answer) : $host->stream(200, $headers, $answer);
    } catch (\Throwable $e) {
        $host->fail($e->getMessage());
    }
}
