<?php

require __DIR__ . '/pages.php';

while (frankenphp_handle_request(static function (): void {
    echo Bench\page($_SERVER['REQUEST_URI']);
})) {
}
