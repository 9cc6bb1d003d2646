<?php

require __DIR__ . '/classic.php';
is_file(__DIR__ . '/boot.php') && require __DIR__ . '/boot.php';

Lab\note('boots');
register_shutdown_function(static fn () => Lab\note('ends'));
while (frankenphp_handle_request(Lab\serve(...))) {
}
