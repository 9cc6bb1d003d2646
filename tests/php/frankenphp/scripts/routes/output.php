<?php

return [
    '' => static function (int $n): void {
        echo "hello $n";
    },
    'status' => static function (): void {
        http_response_code((int) $_GET['s']);
        header('X-One: 1');
        header('X-Many: a', false);
        header('X-Many: b', false);
        setcookie('c', 'v w', ['path' => '/x', 'httponly' => true]);
        echo 'told';
    },
    'status-line' => static function (): void {
        header('HTTP/1.1 404 Nothing Here');
    },
    'status-header' => static function (): void {
        header('Status: 503 Later');
    },
    'redirect' => static function (): void {
        header('Location: /there');
    },
    'type' => static function (): void {
        header('Content-Type: application/json');
        echo '{}';
    },
    'no-type' => static function (): void {
        ini_set('default_mimetype', '');
        http_response_code(204);
    },
    'head-callback' => static function (): void {
        header_register_callback(static function (): void {
            header('X-Late: yes');
        });
        echo 'body';
    },
    'buffers' => static function (): void {
        echo ob_get_level();
        ob_start();
        echo 'in';
        ob_start(static fn(string $text): string => strtoupper($text));
        echo 'ner', ob_get_level();
        // Left open.
    },
    'drop-buffers' => static function (): void {
        ob_start();
        echo 'never seen';
        while (ob_get_level() > 0) {
            ob_end_clean();
        }
        while (@ob_end_flush());
        echo 'seen ', var_export([ob_get_clean(), ob_get_flush(), headers_sent()], true);
    },
    'buffer-fixed' => static function (): void {
        ob_start(null, 0, 0);
        echo 'fixed';
    },
    'flush-early' => static function (): void {
        flush();
        header('X-One: before any output');
        echo ob_get_level(), headers_sent() ? ' sent' : ' free';
        flush();
        echo headers_sent() ? ' sent' : ' free';
    },
    'events' => static function (): void {
        header('Content-Type: text/event-stream');
        for ($i = 0; $i < 4; $i++) {
            echo "data: $i\n\n";
            flush();
            usleep(60_000);
        }
        echo 'sent ', var_export(headers_sent(), true);
    },
    'events-ob' => static function (): void {
        for ($i = 0; $i < 3; $i++) {
            ob_start();
            echo "data: $i\n\n";
            ob_end_flush();
            ob_flush();
            usleep(60_000);
        }
    },
    'implicit' => static function (): void {
        ob_implicit_flush();
        foreach (['a', 'b'] as $letter) {
            echo $letter;
        }
    },
    'large' => static function (): void {
        $before = memory_get_usage();
        for ($i = 0; $i < 1024; $i++) {
            echo str_repeat(chr(65 + $i % 26), 16384);
        }
        echo str_repeat('z', 3_000_000);
        frankenphp_log((string) (memory_get_peak_usage() - $before));
    },
    'until-gone' => static function (): void {
        for ($i = 0; $i < 200 && !connection_aborted(); $i++) {
            echo "tick\n";
            flush();
            usleep(10_000);
        }
        frankenphp_log("stopped by $i, status " . connection_status());
    },
    'finish' => static function (): void {
        echo 'before';
        $first = frankenphp_finish_request();
        echo 'after';
        header('X-After: 1');
        usleep(150_000);
        frankenphp_log('finished ' . var_export([$first, fastcgi_finish_request()], true));
    },
    'early' => static function (): void {
        header('Link: </a.css>; rel=preload; as=style');
        header('X-Other: 1');
        header('Link: </b.js>; rel=preload', false);
        $sent = headers_send(103);
        header_remove('Link');
        echo "sent $sent";
    },
    'send-head' => static function (): void {
        header('X-Now: 1');
        headers_send(202);
        usleep(60_000);
        echo 'body';
    },
    'headers' => static function (): void {
        echo json_encode([getallheaders(), frankenphp_request_headers() === apache_request_headers()]);
    },
    'response-headers' => static function (): void {
        header('X-A: 1');
        header('X-B:two');
        echo json_encode([apache_response_headers(), frankenphp_response_headers()]);
    },
    'log' => static function (): void {
        frankenphp_log('plain');
        frankenphp_log('débug', FRANKENPHP_LOG_LEVEL_DEBUG, ['a' => 1, 'b' => "\xff"]);
        frankenphp_log('warned', FRANKENPHP_LOG_LEVEL_WARN);
        frankenphp_log('wrong', FRANKENPHP_LOG_LEVEL_ERROR, ['why' => ['x']]);
        try {
            mercure_publish('topic', 'data');
        } catch (RuntimeException $e) {
            echo $e->getMessage();
        }
    },
];
