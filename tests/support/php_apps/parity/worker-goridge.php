<?php

/** RR_MODE=http, by hand. */

declare(strict_types=1);

namespace Parity;

require __DIR__ . '/app/routes.php';
require __DIR__ . '/common/Goridge.php';
require __DIR__ . '/app/tree.php';

$host = new \Common\Goridge();
while (($request = $host->next()) !== null) {
    [$context, $body] = $request;
    $headers = [];
    foreach ($context['headers'] as $name => $values) {
        $headers[strtolower((string) $name)] = implode(', ', $values);
    }
    $parsed = $context['parsed'] ?? false;
    parse_str($context['rawQuery'] ?? '', $query);
    $in = new In(
        $context['method'],
        rawurldecode(parse_url($context['uri'], PHP_URL_PATH) ?: '/'),
        $query,
        $parsed && $body !== '' ? json_decode($body, true) : [],
        tree($context['uploads'] ?? [], static fn (array $file) => [
            'name' => $file['name'],
            'mime' => $file['mime'],
            'size' => $file['size'],
            'error' => $file['error'],
            'tmp' => $file['tmpName'],
        ]),
        $context['cookies'] ?? [],
        $headers,
        $parsed ? '' : $body,
        new Session(true, $context['cookies']['PHPSESSID'] ?? null),
    );
    try {
        $out = answer($in);
    } catch (\Throwable $e) {
        $host->fail((string) $e);
        continue;
    }
    $cookie = $in->session->close();
    if ($cookie !== null) {
        $out->with('Set-Cookie', $cookie);
    }
    $named = [];
    foreach ($out->headers as [$name, $value]) {
        $named[$name][] = $value;
    }
    is_string($out->body) ? $host->respond($out->status, $named, $out->body) : $host->stream($out->status, $named, $out->body);
}
