<?php

// Boots in its first request, as Octane's worker does.

$booted = false;
while (frankenphp_handle_request(static function () use (&$booted): void {
    if (!$booted) {
        require_once __DIR__ . '/lazy_app.php';
        date_default_timezone_set('Europe/Paris');
        ini_set('precision', '5');
        error_reporting(E_ALL);
        putenv('APP=booted');
        $booted = true;
    }
    if ($_SERVER['REQUEST_URI'] === '/bleed') {
        date_default_timezone_set('Asia/Tokyo');
        ini_set('precision', '3');
        error_reporting(0);
        putenv('APP=bled');
    }
    echo implode(' ', [
        date_default_timezone_get(), ini_get('precision'), error_reporting() === E_ALL ? 'E_ALL' : 'none', getenv('APP'),
    ]);
}));
