<?php

// Microseconds of an acquire and its release, and of a bare exchange of as many bytes: medians of rounds that take turns.

declare(strict_types=1);

require __DIR__ . '/../../../php/src/autoload.php';

$bulkhead = new Fairlead\Bulkhead\Bulkhead('pair', 5, maxWait: 1);
$echo = stream_socket_client('unix://' . getenv('ECHO'));
stream_set_read_buffer($echo, 0);
$ask = str_repeat('a', 36);
$release = str_repeat('r', 8);
$kinds = [
    'pair' => static function () use ($bulkhead): void {
        $bulkhead->acquire()->release();
    },
    'echo' => static function () use ($echo, $ask, $release): void {
        fwrite($echo, $ask);
        fread($echo, 1024);
        fwrite($echo, $release);
    },
];
$took = ['pair' => [], 'echo' => []];
for ($round = 0; $round < 41; $round++) {
    foreach ($kinds as $kind => $run) {
        $start = hrtime(true);
        for ($i = 0; $i < 500; $i++) {
            $run();
        }
        $took[$kind][] = (hrtime(true) - $start) / 500e3;
    }
}
foreach ($took as &$times) {
    // The first round opens the connection.
    array_shift($times);
    sort($times);
    $times = ['best' => round($times[0], 1), 'median' => round($times[20], 1)];
}
echo json_encode($took);
