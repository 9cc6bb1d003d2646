<?php

/** Everything a script can do to the process it runs in. */

declare(strict_types=1);

namespace Lab;

/** Written to `storage/NAME`: what ran, seen from outside. */
function note(string $name, string $text = '.'): void
{
    file_put_contents(__DIR__ . "/storage/$name", $text, FILE_APPEND);
}

/**
 * @param array<string, string> $query
 * @return string|\Generator<int, string> pieces are sent as they come
 */
function lab(string $path, array $query, string $body): string|\Generator
{
    static $kept = [];
    if (isset($query['note'])) {
        note($query['note']);
    }
    switch ($path) {
        case '/fast':
            return 'fast';
        case '/echo':
            usleep((int) ($query['us'] ?? 0));
            return "<{$query['token']}>";
        case '/pid':
            return (string) getmypid();
        case '/sleep':
            usleep(1000 * (int) $query['ms']);
            return 'slept';
        case '/spin':
            note('pids', getmypid() . "\n");
            for (;;) {
            }
        case '/hang':
            note('pids', getmypid() . "\n");
            sleep(100);
            return 'never';
        case '/kill':
            posix_kill(getmypid(), (int) $query['signal']);
            usleep(500_000);
            return 'survived';
        case '/leak':
            $kept[] = str_repeat('x', 1_048_576);
            return getmypid() . ' ' . count($kept);
        case '/blow':
            for ($pieces = [];;) {
                $pieces[] = str_repeat('x', 1_048_576);
            }
        case '/exit':
            exit(3);
        case '/throw':
            throw new \LogicException('thrown in the lab');
        case '/spawn':
            // Deaf to polite signals, and holding nothing of ours open.
            exec('(trap "" TERM HUP; exec sleep 97) > /dev/null 2>&1 & echo $!', $lines);
            note('spawned', "$lines[0]\n");
            return $lines[0];
        case '/upload':
            return strlen($body) . ' ' . md5($body);
        default:
            return pieces($path, $query);
    }
}

function pieces(string $path, array $query): \Generator
{
    switch ($path) {
        case '/half-exit':
            yield 'half of it, ';
            exit(3);
        case '/half-kill':
            yield str_repeat('x', 200_000);
            usleep(50_000);
            posix_kill(getmypid(), (int) ($query['signal'] ?? 9));
            break;
        case '/endless':
            for ($i = 0;; $i++) {
                yield str_repeat('x', 10_000);
                usleep(5_000);
            }
        case '/sse':
            for ($i = 1; $i <= 5; $i++) {
                yield "data: $i\n\n";
                usleep(100_000);
            }
            break;
        case '/download':
            $piece = str_repeat('0123456789abcdef', 16_384);
            for ($i = 0; $i < 4 * (int) $query['mb']; $i++) {
                yield $piece;
            }
            break;
        case '/tokens':
            for ($i = 0; $i < 20; $i++) {
                yield "<{$query['token']}>" . str_repeat('.', 500);
                usleep(1000);
            }
            break;
        default:
            yield 'nothing here';
    }
}
