<?php

// A worker whose requests name what they want by their path: see the files of routes/.

$routes = [];
foreach (glob(__DIR__ . '/routes/*.php') as $file) {
    $routes += require $file;
}
$served = 0;
$handle = static function () use ($routes, &$served): void {
    $served++;
    $routes[trim(strtok($_SERVER['REQUEST_URI'], '?'), '/')]($served);
};
while (frankenphp_handle_request($handle));
