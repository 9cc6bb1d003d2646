<?php

$look = static function (): array {
    return [
        'env' => getenv('BLED'),
        'home' => getenv('HOME'),
        'precision' => ini_get('precision'),
        'errors' => error_reporting(),
        'include' => get_include_path(),
        'zone' => date_default_timezone_get(),
        'numeric' => setlocale(LC_NUMERIC, '0'),
        'charset' => mb_internal_encoding(),
        'status' => http_response_code(),
        'headers' => headers_list(),
        'limit' => ini_get('max_execution_time'),
        'abort' => ignore_user_abort(),
    ];
};

return [
    'scan-dir' => static function (): void {
        echo shell_exec('printf %s "$PHP_INI_SCAN_DIR"');
    },
    'look' => static function () use ($look): void {
        echo json_encode($look(), JSON_UNESCAPED_SLASHES);
    },
    'bleed' => static function (): void {
        putenv('BLED=1');
        putenv('HOME');
        ini_set('precision', '3');
        error_reporting(0);
        set_include_path('/nowhere');
        date_default_timezone_set('Asia/Tokyo');
        setlocale(LC_ALL, 'C.UTF-8');
        mb_internal_encoding('ISO-8859-1');
        http_response_code(201);
        header('X-Bled: 1');
        set_time_limit(77);
        ignore_user_abort(false);
        libxml_use_internal_errors(true);
        ob_start();
        echo 'bled';
    },
    'server' => static function (): void {
        static $kept = [];
        $kept[] = &$_SERVER;
        $get[] = &$_GET;
        echo json_encode(array_map(static fn(array $server): string => $server['REQUEST_URI'], $kept));
    },
    'dump' => static function (): void {
        echo json_encode($_SERVER, JSON_UNESCAPED_SLASHES);
    },
    'memory-use' => static function (): void {
        echo memory_get_usage();
    },
];
