<?php

/*
 * What PHP within a process of ours runs in place of a script: it gives the script the request as php-fpm would have, and runs
 * it in the global scope, as if it had been asked for. The request comes in a header: the package's own way to hand bodies over
 * repeats and loses bytes.
 */

declare(strict_types=1);

require __DIR__ . '/Files.php';
require __DIR__ . '/Input.php';
require __DIR__ . '/Pairs.php';
require __DIR__ . '/PhpStream.php';
require __DIR__ . '/RequestHead.php';
require __DIR__ . '/../src/Internal/RequestHead.php';
require __DIR__ . '/Superglobals.php';
require __DIR__ . '/stand_ins.php';

(static function (): void {
    $payload = (string) \base64_decode($_SERVER['HTTP_FAIRLEAD_REQUEST'], true);
    /** @var array{server: array<string, string|int|float>, input?: string} $head */
    [$head, $body] = Fairlead\Runtime\RequestHead::ofPayload($payload);
    Fairlead\Runtime\Superglobals::boot(worker: false);
    Fairlead\Runtime\Superglobals::fill($head);
    Fairlead\Runtime\Input::open($body, $head['input'] ?? null);
    \register_shutdown_function(static function (): void {
        // Behind the script's own: those it registers in them come later still, and may read the body too.
        \register_shutdown_function(static function (): void {
            Fairlead\Runtime\Input::close();
        });
    });
    \chdir(\dirname((string) $head['server']['SCRIPT_FILENAME']));
})();

require $_SERVER['SCRIPT_FILENAME'];
