<?php

if (getenv('GO')) {
    frankenphp_handle_request(static fn() => null);
}
echo "Configuration is missing.";
exit(7);
