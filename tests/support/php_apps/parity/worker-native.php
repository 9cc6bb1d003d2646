<?php

declare(strict_types=1);

namespace Parity;

use Fairlead\Request;
use Fairlead\Response;
use Fairlead\UploadedFile;
use Fairlead\Worker;

require getenv('FAIRLEAD_PHP') . '/src/autoload.php';
require __DIR__ . '/app/routes.php';

/** @param array<UploadedFile|array> $nodes */
function native_files(array $nodes): array
{
    return array_map(static fn (UploadedFile|array $node) => is_array($node) ? native_files($node) : [
        'name' => $node->fullPath,
        'mime' => $node->type,
        'size' => $node->size,
        'error' => $node->error,
        'tmp' => $node->path,
    ], $nodes);
}

Worker::create()->serve(static function (Request $request): Response {
    $in = new In(
        $request->method,
        rawurldecode($request->path),
        $request->query(),
        $request->post(),
        native_files($request->files()),
        $request->cookies(),
        array_change_key_case($request->headers()),
        $request->body(),
        new Session(true, $request->cookies()['PHPSESSID'] ?? null),
    );
    $out = answer($in);
    $cookie = $in->session->close();
    if ($cookie !== null) {
        $out->with('Set-Cookie', $cookie);
    }
    $named = [];
    foreach ($out->headers as [$name, $value]) {
        $named[$name][] = $value;
    }
    return new Response($out->status, $named, $out->body);
});
