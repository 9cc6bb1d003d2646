<?php

use Symfony\Component\HttpFoundation\Request;

[, $root, $path, $seconds] = $argv;
require __DIR__ . '/common.php';
require "$root/vendor/autoload.php";

$kernel = new App\Kernel('prod', false);
loop(static function () use ($kernel, $path): void {
    $request = Request::create($path);
    $response = $kernel->handle($request);
    $response->sendContent();
    $kernel->terminate($request, $response);
}, (float) $seconds);
