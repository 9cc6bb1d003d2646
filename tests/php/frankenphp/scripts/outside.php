<?php

try {
    frankenphp_handle_request(static fn() => null);
} catch (RuntimeException $e) {
    file_put_contents('php://stderr', $e->getMessage() . "\n" . var_export(frankenphp_finish_request(), true) . "\n");
}
