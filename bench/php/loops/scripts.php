<?php

[, , $path, $seconds] = $argv;
require __DIR__ . '/common.php';
require dirname(__DIR__) . '/scripts/pages.php';

loop(static function () use ($path): void {
    echo Bench\page($path);
}, (float) $seconds);
