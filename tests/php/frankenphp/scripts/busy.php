<?php

while (frankenphp_handle_request(static function (): void {
    $end = hrtime(true) + (int) ($_GET['ms'] ?? 300) * 1_000_000;
    while (hrtime(true) < $end);
    echo 'done';
}));
