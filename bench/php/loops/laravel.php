<?php

/** The code of `worker-franken.php` in the tests' Laravel, in a loop. */

[, $root, $path, $seconds] = $argv;
require __DIR__ . '/common.php';

$handler = null;
function frankenphp_handle_request(callable $callback): bool
{
    global $handler;
    $handler = $callback;
    return false;
}
chdir($root);
require "$root/worker-franken.php";

loop(static function () use (&$handler, $path): void {
    $_SERVER = ['REQUEST_METHOD' => 'GET', 'REQUEST_URI' => $path, 'HTTP_HOST' => '127.0.0.1', 'SERVER_PORT' => '80'] + $_SERVER;
    $handler();
}, (float) $seconds);
