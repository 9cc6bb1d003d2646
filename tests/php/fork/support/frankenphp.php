<?php

$booted = getmypid();
$count = 0;
$handle = static function () use ($booted, &$count): void {
    $count++;
    switch (parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH)) {
        case '/exit':
            echo 'bye';
            exit(3);
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
