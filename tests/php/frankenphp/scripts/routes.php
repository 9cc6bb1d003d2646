<?php

// A worker whose requests name what they want by their path.

$n = 0;
$loop = static function () use (&$n): void {
    $n++;
    (require __DIR__ . '/routes/' . basename($_SERVER['REQUEST_URI'] === '/' ? 'hello' : strtok($_SERVER['REQUEST_URI'], '?')) . '.php')($n);
};
while (frankenphp_handle_request($loop));
