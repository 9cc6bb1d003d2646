<?php

$handle = static function (): void {
    header('Content-Type: text/plain');
    setcookie('seen', '1');
    echo 'hello ', $_GET['a'], $_COOKIE['b'];
};
while (frankenphp_handle_request($handle));
