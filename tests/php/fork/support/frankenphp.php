<?php

$booted = getmypid();
$heap = [];
while (count($heap) < (int) getenv('APP_OBJECTS')) {
    $heap[] = (object) ['text' => str_repeat('x', 100)];
}
$count = 0;
$handle = static function () use ($booted, &$count): void {
    $count++;
    switch (parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH)) {
        case '/exit':
            echo 'bye';
            exit(3);
        case '/end':
            exit();
        case '/half':
            echo str_repeat('x', 100_000);
            trigger_error('on purpose', E_USER_ERROR);
        case '/file':
            // Nobody closes it.
            $GLOBALS['kept'] = tmpfile();
            echo stream_get_meta_data($GLOBALS['kept'])['uri'];
            return;
        case '/fail':
            throw new LogicException('on purpose');
    }
    http_response_code(201);
    header("X-N: {$_GET['n']}");
    echo json_encode(['n' => $_GET['n'], 'count' => $count, 'booted' => $booted, 'pid' => getmypid()]);
};
while (frankenphp_handle_request($handle)) {
}
file_put_contents('php://stderr', "behind the loop\n");
