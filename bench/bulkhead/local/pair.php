<?php

// Microseconds of an acquire and its release, and of a bare exchange of as many bytes, in rounds that take turns; and what is left of
// the one when the other is taken off, round by round: on a busy machine that says most.

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
$ours = array_map(static fn (float $pair, float $echo): float => $pair - $echo, $took['pair'], $took['echo']);
sort($ours);
foreach ($took as &$times) {
    // The first round opens the connection.
    array_shift($times);
    sort($times);
    $times = ['best' => round($times[0], 1), 'median' => round($times[20], 1)];
}
echo json_encode($took + ['ours' => ['median' => round($ours[20], 1)]]);
