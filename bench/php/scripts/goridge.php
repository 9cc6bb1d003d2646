<?php

/** RR_MODE=http, by hand. */

require __DIR__ . '/Goridge.php';
require __DIR__ . '/pages.php';

$host = new Common\Goridge();
while (($request = $host->next()) !== null) {
    $path = parse_url($request[0]['uri'], PHP_URL_PATH);
    $host->respond(200, ['Content-Type' => ['text/html; charset=UTF-8']], Bench\page($path));
}
