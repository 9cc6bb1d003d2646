<?php

require __DIR__ . '/app/classic.php';

ignore_user_abort(true);
do {
    $more = frankenphp_handle_request(Parity\serve(...));
} while ($more);
