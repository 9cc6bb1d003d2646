<?php

/**
 * An application with every kind of state that PHP code leaves behind, on a bare runtime: it answers with what it sees.
 */

declare(strict_types=1);

require __DIR__ . '/../../../../php/runtime/fork.php';

final class App
{
    public static int $count = 0;
    /** @var list<mixed> */
    public static array $heap = [];
}

function calls(): int
{
    static $calls = 0;
    return ++$calls;
}

// The boot.
$booted = getmypid();
putenv('BOOT=1');
mt_srand(42);
mt_rand();
uniqid('', true);
$megabytes = (int) getenv('APP_MB');
while ($megabytes > 0 && memory_get_usage() < $megabytes << 20) {
    $object = new stdClass();
    $object->text = str_repeat('x', 40);
    $object->list = [1, 2, count(App::$heap)];
    App::$heap[] = $object;
}
if (getenv('APP_BOOT') === 'fail') {
    fwrite(fopen('php://stderr', 'w'), "no database\n");
    exit(3);
}
if (getenv('APP_BOOT') === 'socket') {
    $pair = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
}
register_shutdown_function(static function () use ($booted): void {
    global $marks;
    if (getmypid() !== $booted && isset($marks)) {
        file_put_contents($marks, "shutdown function\n", FILE_APPEND);
    }
});

$socket = fairlead_fork((string) getenv('FAIRLEAD_SOCKET'), (string) getenv('FAIRLEAD_TOKEN'));
$frame = static function (int $type, int $flags, string $payload, int $number) use ($socket): void {
    fwrite($socket, pack('VCCvV', strlen($payload), $type, $flags, 0, $number) . $payload);
};
$read = static function (int $length) use ($socket): string {
    $bytes = '';
    while (strlen($bytes) < $length) {
        $part = fread($socket, $length - strlen($bytes));
        if ($part === '' || $part === false) {
            exit(0); // nobody is there
        }
        $bytes .= $part;
    }
    return $bytes;
};
['length' => $length, 'type' => $type] = unpack('Vlength/Ctype', $read(12));
if ($type === 6) {
    exit(0);
}
$target = $length > 0 ? $read($length) : '';
parse_str((string) parse_url($target, PHP_URL_QUERY), $query);

final class Marking
{
    public function __construct(private readonly string $file)
    {
    }

    public function __destruct()
    {
        file_put_contents($this->file, "destructor\n", FILE_APPEND);
    }
}

$answer = static fn (mixed $value) => $frame(3, 1, "Content-Type: application/json\r\n\r\n" . json_encode($value), 1);
switch (parse_url($target, PHP_URL_PATH)) {
    case '/state':
        $seen = [
            'pid' => getmypid(),
            'booted' => $booted,
            'static' => ++App::$count,
            'function' => calls(),
            'global' => $GLOBALS['left'] ?? null,
            'ini' => ini_get('precision'),
            'env' => getenv('LEFT'),
            'boot' => getenv('BOOT'),
            'locale' => setlocale(LC_ALL, '0'),
            'umask' => umask(),
            'cwd' => getcwd(),
            'zone' => date_default_timezone_get(),
            'handler' => set_error_handler(static fn () => true) !== null,
            'constant' => defined('LEFT'),
            'class' => class_exists('Left', false),
            'random' => [mt_rand(), rand(), random_int(0, PHP_INT_MAX), str_shuffle('abcdefghijklmnopqrstuvwxyz')],
            'lcg' => substr(uniqid('', true), -9),
        ];
        $GLOBALS['left'] = 'left';
        ini_set('precision', '3');
        putenv('LEFT=1');
        setlocale(LC_ALL, 'C.UTF-8');
        umask(0);
        chdir('/');
        date_default_timezone_set('Asia/Tokyo');
        define('LEFT', 1);
        eval('class Left {}');
        $answer($seen);
        break;
    case '/exit':
        $answer('bye');
        exit((int) ($query['code'] ?? 0));
    case '/half':
        $frame(3, 0, "Content-Type: text/plain\r\n\r\nhalf", 1);
        exit(7);
    case '/fatal':
        ini_set('display_errors', '0');
        ini_set('log_errors', '1');
        ini_set('error_log', '');
        missing_function();
        break;
    case '/sleep':
        // A child of its own, that must end with it.
        $process = proc_open(['sleep', '300'], [], $pipes);
        $frame(3, 0, "X-Sleeper: " . proc_get_status($process)['pid'] . "\r\n\r\n", 1);
        sleep(300);
        break;
    case '/marks':
        $marks = $query['file'];
        $object = new Marking($marks);
        $kept = tmpfile();
        $left = stream_get_meta_data($kept)['uri'];
        ob_start(static function (string $text) use ($marks): string {
            file_put_contents($marks, "buffer $text\n", FILE_APPEND);
            return '';
        });
        echo 'flushed';
        $answer($left);
        break;
    case '/big':
        for ($i = 0; $i < 64; $i++) {
            $frame(3, 0, ($i === 0 ? "X: y\r\n\r\n" : '') . str_repeat('b', 65536), 1);
        }
        $frame(3, 1, 'end', 1);
        break;
    default:
        $answer(getmypid());
}
