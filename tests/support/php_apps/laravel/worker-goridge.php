<?php

/** Laravel behind a worker that speaks RoadRunner's protocol. */

declare(strict_types=1);

use Illuminate\Http\Request;
use Symfony\Component\HttpFoundation\File\UploadedFile;
use Symfony\Component\HttpFoundation\Response;

require __DIR__ . '/common/Goridge.php';
require __DIR__ . '/prepared.php';
$answer = require __DIR__ . '/sandbox.php';

$files = static function (array $given) use (&$files): array {
    return array_map(static fn (array $file) => array_key_exists('tmpName', $file)
        ? new UploadedFile($file['tmpName'], $file['name'], $file['mime'], $file['error'], true)
        : $files($file), $given);
};
$host = new Common\Goridge();
while (($given = $host->next()) !== null) {
    [$context, $body] = $given;
    $parsed = $context['parsed'] ?? false;
    $uri = parse_url($context['uri']);
    parse_str($context['rawQuery'] ?? '', $query);
    $server = [
        'REQUEST_METHOD' => $context['method'],
        'REQUEST_URI' => ($uri['path'] ?? '/') . (isset($uri['query']) ? "?{$uri['query']}" : ''),
        'QUERY_STRING' => $context['rawQuery'] ?? '',
        'SERVER_PROTOCOL' => $context['protocol'],
        'REMOTE_ADDR' => $context['remoteAddr'],
        'HTTP_HOST' => $uri['host'] . (isset($uri['port']) ? ":{$uri['port']}" : ''),
        'HTTPS' => $uri['scheme'] === 'https' ? 'on' : '',
        'SERVER_PORT' => (string) ($uri['port'] ?? ($uri['scheme'] === 'https' ? 443 : 80)),
        'SCRIPT_NAME' => '/index.php',
        'SCRIPT_FILENAME' => __DIR__ . '/public/index.php',
    ];
    foreach ($context['headers'] as $name => $values) {
        $key = strtoupper(strtr((string) $name, '-', '_'));
        $server[in_array($key, ['CONTENT_TYPE', 'CONTENT_LENGTH'], true) ? $key : "HTTP_$key"] = implode(', ', $values);
    }
    $symfony = new Symfony\Component\HttpFoundation\Request(
        $query,
        $parsed && $body !== '' ? json_decode($body, true) : [],
        [],
        array_map('rawurldecode', $context['cookies'] ?? []),
        $files($context['uploads'] ?? []),
        $server,
        $parsed ? '' : $body,
    );
    $answer(Request::createFromBase($symfony), static fn (Response $response) => $host->respond(...prepared($response)));
    gc_collect_cycles();
}
