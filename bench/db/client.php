<?php
/**
 * The client of the measurements: PHP itself. It is given a job in the environment, prepares, says "ready", waits for a
 * line, works, and prints what it timed as JSON. It stays until its input ends, so that its CPU time can be read.
 */
error_reporting(E_ALL);
set_error_handler(function (int $level, string $text) {
    throw new ErrorException($text, 0, $level);
});
mysqli_report(MYSQLI_REPORT_ERROR | MYSQLI_REPORT_STRICT);

$job = json_decode(getenv('BENCH_JOB'), true, flags: JSON_THROW_ON_ERROR);
$viaSocket = $job['via'] === 'socket';
$port = (int) $job['port'];
[$host, $socket, $user, $password] = [$job['host'], $job['socket'], $job['user'], $job['password']];
$dsn = 'mysql:' . ($viaSocket ? "unix_socket=$socket" : "host=$host;port=$port") . ';dbname=test;charset=utf8mb4';

/** @return mysqli */
$mysqli = $viaSocket
    ? static fn () => new mysqli('localhost', $user, $password, 'test', 0, $socket)
    : static fn () => new mysqli($host, $user, $password, 'test', $port);
$pdo = static fn () => new PDO($dsn, $user, $password);

const SETS = [
    'SET NAMES utf8mb4',
    "SET SESSION sql_mode='NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
];

/** The value of the row of `test.items` whose key is $id. */
function wrong(int $id, ?string $value): bool
{
    return $value !== "value of the row $id";
}

/** One session with each API: connect, the statements, and away. */
$sessions = [
    'mysqli' => static function (array $sets, int $id) use ($mysqli): bool {
        $link = $mysqli();
        foreach ($sets as $set) {
            $link->query($set);
        }
        $row = $link->query("SELECT value FROM items WHERE id = $id")->fetch_row();
        $link->close();
        return wrong($id, $row[0] ?? null);
    },
    'pdo' => static function (array $sets, int $id) use ($pdo): bool {
        $link = $pdo();
        foreach ($sets as $set) {
            $link->exec($set);
        }
        $value = $link->query("SELECT value FROM items WHERE id = $id")->fetchColumn();
        $link = null;
        return wrong($id, $value === false ? null : $value);
    },
];

/** One query of each kind on a held connection. */
$queries = [
    'key' => static function (mysqli $link, int $id): bool {
        return wrong($id, $link->query("SELECT value FROM items WHERE id = $id")->fetch_row()[0] ?? null);
    },
    'rows' => static function (mysqli $link, int $id): bool {
        $to = $id + 99;
        $rows = $link->query("SELECT id, value FROM items WHERE id BETWEEN $id AND $to")->fetch_all();
        return count($rows) !== 100 || wrong($to, $rows[99][1]);
    },
];

function go(): void
{
    echo "ready\n";
    if (fgets(STDIN) === false) {
        exit(0);
    }
}

/** Runs $work until $count times are done or $seconds are over, and returns the times in ns. */
function timed(callable $work, int $count, float $seconds, int &$errors): array
{
    $times = [];
    $end = $seconds > 0 ? hrtime(true) + (int) ($seconds * 1e9) : PHP_INT_MAX;
    for ($i = 0; $i < $count; $i++) {
        $id = 1 + ($i * 7919) % 9000;
        $from = hrtime(true);
        if ($from >= $end) {
            break;
        }
        if ($work($id)) {
            $errors++;
        }
        $times[] = hrtime(true) - $from;
    }
    return $times;
}

$errors = 0;
$warmup = (int) $job['warmup'];
$count = (int) ($job['count'] ?? PHP_INT_MAX);
$seconds = (float) ($job['seconds'] ?? 0);
switch ($job['kind']) {
    case 'sessions':
        $one = $sessions[$job['api']];
        $sets = $job['shape'] === 'wordpress' ? SETS : [];
        $work = static fn (int $id) => $one($sets, $id);
        break;
    case 'queries':
        $link = $mysqli();
        $one = $queries[$job['query']];
        $work = static fn (int $id) => $one($link, $id);
        break;
    case 'bulk':
        // Rows of 1 MiB that are never kept; with a pause after each for the slow reader.
        $link = $mysqli();
        $pause = (int) $job['pauseUs'];
        $rows = (int) $job['rows'];
        $work = static function () use ($link, $rows, $pause): bool {
            $result = $link->query("SELECT REPEAT('x', 1048576) FROM items LIMIT $rows", MYSQLI_USE_RESULT);
            $bytes = 0;
            while ($row = $result->fetch_row()) {
                $bytes += strlen($row[0]);
                if ($pause > 0) {
                    usleep($pause);
                }
            }
            return $bytes !== $rows * 1048576;
        };
        break;
}
timed($work, $warmup, 0, $errors);
go();
$times = timed($work, $count, $seconds, $errors);
echo json_encode(['errors' => $errors, 'times' => $times]), "\n";
fgets(STDIN);
