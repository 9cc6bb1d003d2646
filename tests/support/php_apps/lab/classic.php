<?php

declare(strict_types=1);

namespace Lab;

require_once __DIR__ . '/lab.php';

function serve(): void
{
    $path = explode('?', $_SERVER['REQUEST_URI'], 2)[0];
    if ($path === '/sse') {
        header('Content-Type: text/event-stream');
    }
    if (str_starts_with($path, '/finish')) {
        echo 'early';
        fastcgi_finish_request();
        usleep(1000 * (int) $_GET['ms']);
        note('finished');
        return;
    }
    $answer = lab($path, $_GET, $_SERVER['REQUEST_METHOD'] === 'POST' ? file_get_contents('php://input') : '');
    if (is_string($answer)) {
        echo $answer;
        return;
    }
    foreach ($answer as $piece) {
        echo $piece;
        while (ob_get_level() > 0) {
            ob_end_flush();
        }
        flush();
        if (connection_aborted() === 1) {
            note('aborted');
            return;
        }
    }
}
