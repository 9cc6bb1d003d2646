<?php

/** Runs one page again and again in this process, and tells how often: what a worker could do if nothing were around it. */

declare(strict_types=1);

/** @param callable(): void $once prints the page */
function loop(callable $once, float $seconds): void
{
    ob_start();
    $once();
    $page = ob_get_clean();
    for ($i = 0; $i < 20; $i++) {
        ob_start();
        $once();
        ob_end_clean();
    }
    $count = 0;
    $end = ($start = microtime(true)) + $seconds;
    do {
        ob_start();
        $once();
        ob_end_clean();
        $count++;
    } while (microtime(true) < $end);
    fwrite(STDERR, json_encode(['count' => $count, 'seconds' => microtime(true) - $start, 'bytes' => strlen($page)]) . "\n");
}
