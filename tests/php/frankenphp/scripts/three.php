<?php

// Leaves after three requests, as scripts with a limit of their own do.

if (getenv('LOUD')) {
    echo "booting\n";
}
$n = 0;
while ($n < 3 && frankenphp_handle_request(static function () use (&$n): void {
    echo "request $n";
})) {
    $n++;
}
file_put_contents('php://stderr', "after the loop\n");
