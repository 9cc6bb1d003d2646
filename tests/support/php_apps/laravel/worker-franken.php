<?php

/** Laravel behind a worker of its own, shaped as FrankenPHP's are. */

declare(strict_types=1);

use Illuminate\Http\Request;
use Symfony\Component\HttpFoundation\Response;

$answer = require __DIR__ . '/sandbox.php';
while (frankenphp_handle_request(static fn () => $answer(Request::capture(), static fn (Response $response) => $response->send()))) {
    gc_collect_cycles();
}
