<?php

// A worker that speaks Goridge over its stdin and stdout and does what the path of a request says. It reads as strictly as
// workers do: a header that does not come whole ends it.

declare(strict_types=1);

$mode = getenv('WORKER_MODE') ?: '';

if ($mode === 'babble') {
    fwrite(STDOUT, "Deprecated: something old\nin two lines");
}
if ($mode === 'die') {
    fwrite(STDERR, "cannot boot\n");
    exit(7);
}
if ($mode === 'warn') {
    echo $undefined;
}

/** @return array{flags: int, stream: int, head: string, body: string, json: mixed} */
function receive(): array
{
    $header = fread(STDIN, 12);
    if ($header === false || strlen($header) !== 12) {
        fwrite(STDERR, 'a header of ' . strlen((string) $header) . " bytes\n");
        exit(255);
    }
    ['first' => $first, 'flags' => $flags, 'length' => $length, 'crc' => $crc, 'stream' => $stream]
        = unpack('Cfirst/Cflags/Vlength/Vcrc/Cstream', $header);
    if ($first >> 4 !== 1 || $crc !== crc32(substr($header, 0, 6))) {
        fwrite(STDERR, 'no header: ' . bin2hex($header) . "\n");
        exit(254);
    }
    $options = take(4 * (($first & 15) - 3));
    $payload = take($length);
    $split = $options === '' ? strlen($payload) : unpack('V', $options)[1];
    return [
        'flags' => $flags,
        'stream' => $stream,
        'head' => substr($payload, 0, $split),
        'body' => substr($payload, $split),
        'json' => json_decode(substr($payload, 0, $split), true),
    ];
}

function take(int $length): string
{
    for ($got = ''; strlen($got) < $length;) {
        $part = fread(STDIN, min(65536, $length - strlen($got)));
        if ($part === false || $part === '') {
            exit(253);
        }
        $got .= $part;
    }
    return $got;
}

/** @param list<int> $options */
function send(string $payload, array $options = [], int $flags = 0, int $stream = 0): void
{
    $start = pack('CCV', 0x10 | (3 + count($options)), $flags, strlen($payload));
    fwrite(STDOUT, $start . pack('VCCV*', crc32($start), $stream, 0, ...$options) . $payload);
}

/** @param array<string, list<string>>|null $headers */
function answer(?int $status, string $body = '', ?array $headers = null, int $stream = 0): void
{
    $head = $status === null ? '' : json_encode(['status' => $status, 'headers' => $headers ?? (object) []]);
    send($head . $body, [strlen($head)], 0, $stream);
}

function waits(): bool
{
    $read = [STDIN];
    $none = null;
    return stream_select($read, $none, $none, 0) > 0;
}

/** A stream as workers send it: a ping every five frames, and a look whether to stop only while its pong has not come. */
function stream(int $count, string $chunk, int $us, string $atStop): void
{
    $waiting = false;
    for ($i = 0; $i < $count; $i++) {
        $ping = false;
        if (!$waiting) {
            $ping = $i > 0 && $i % 5 === 0;
        } elseif (waits()) {
            $frame = receive();
            if ($frame['stream'] & 2) {
                if ($atStop === 'die') {
                    exit(255);
                }
                if ($atStop === 'ignore') {
                    continue;
                }
                answer(null);
                return;
            }
            $waiting = false;
        }
        answer($i === 0 ? 200 : null, $chunk, ['Content-Type' => ['text/plain']], $ping ? 5 : 1);
        $waiting = $waiting || $ping;
        if ($us > 0) {
            usleep($us);
        }
    }
    answer(null, 'end');
}

$served = 0;
while (true) {
    $frame = receive();
    if ($frame['flags'] & 1) {
        if (!empty($frame['json']['stop'])) {
            fwrite(STDERR, "told to stop\n");
            exit(0);
        }
        send(json_encode(['pid' => $mode === 'impostor' ? getmypid() + 1 : getmypid()]), [], 1);
        continue;
    }
    if ($frame['stream'] & 10) {
        continue;
    }
    $served++;
    $request = $frame['json'];
    if ($request === null) {
        // Another codec: show it.
        answer(200, $frame['head'] . $frame['body'], ['X-Flags' => [(string) $frame['flags']]]);
        continue;
    }
    parse_str($request['rawQuery'], $query);
    $path = parse_url($request['uri'], PHP_URL_PATH);
    switch ($path) {
        case '/context':
            answer(200, $frame['head'], ['X-Body' => [$frame['body']], 'X-Flags' => [(string) $frame['flags']]]);
            break;
        case '/echo':
            answer(201, $frame['body'], ['X-A' => ['1', '2'], 'X-Served' => [(string) $served]]);
            break;
        case '/id':
            usleep((int) ($query['us'] ?? 0));
            answer(200, $request['rawQuery']);
            break;
        case '/big':
            answer(200, str_repeat('0123456789abcdef', (int) $query['n'] >> 4));
            break;
        case '/stream':
            stream((int) $query['n'], str_repeat('x', (int) ($query['size'] ?? 10)), (int) ($query['us'] ?? 0), $query['at'] ?? '');
            break;
        case '/early':
            answer(103, '', ['Link' => ['</a.css>; rel=preload']], 1);
            answer(200, 'late');
            break;
        case '/error':
            send("it broke\nin two lines", [], 0x40);
            break;
        case '/error-after':
            answer(500, 'Something went wrong');
            send('the reason', [], 0x40);
            break;
        case '/twice':
            answer(200, $request['rawQuery']);
            usleep((int) ($query['us'] ?? 0));
            answer(200, 'again: ' . $request['rawQuery']);
            break;
        case '/stop-instead':
            send('{"stop":true}', [13]);
            break;
        case '/stop-after':
            answer(200, 'last');
            send('{"stop":true}', [13]);
            break;
        case '/stop-after-and-leave':
            answer(200, 'last');
            usleep(20_000);
            send('{"stop":true}', [13]);
            exit(0);
        case '/exit':
            exit(3);
        case '/exit-after':
            answer(200, str_repeat('y', (int) $query['n']));
            exit(0);
        case '/half':
            $start = pack('CCV', 0x14, 0, 1000);
            fwrite(STDOUT, $start . pack('VCCV', crc32($start), 0, 0, 2) . '{}half');
            exit(4);
        case '/crash':
            posix_kill(getmypid(), SIGSEGV);
            break;
        case '/raw':
            fwrite(STDOUT, "var_dump in the middle\n");
            answer(200, 'too late');
            break;
        case '/head':
            $head = base64_decode($query['head']);
            send($head . 'body', [strlen($head)], 0, (int) ($query['stream'] ?? 0));
            break;
        case '/sleep':
            usleep((int) $query['us']);
            answer(200, 'slept');
            break;
        case '/env':
            answer(200, json_encode(getenv()));
            break;
        default:
            answer(404, 'what?');
    }
}
