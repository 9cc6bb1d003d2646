<?php

declare(strict_types=1);

// The boot: what a framework does before it can answer. It is paid once for each worker.
$booted = microtime(true);
$routes = [
    '/' => static fn (): string => page('A worker', <<<HTML
        <p>This PHP process booted once and has answered every request since. Reload, and watch the count.</p>
        <form method="post" action="/greet"><input name="name" placeholder="Your name"><button>Greet</button></form>
        HTML),
    '/greet' => static function (): string {
        session_start();
        $_SESSION['greeted'] = ($_SESSION['greeted'] ?? 0) + 1;
        $name = htmlspecialchars((string) ($_POST['name'] ?? 'you'));
        return page("Hello, $name", "<p>You were greeted {$_SESSION['greeted']} times. Others are counted apart.</p>");
    },
    '/fail' => static fn () => throw new RuntimeException('This costs one request. The worker goes on.'),
];

function page(string $title, string $body): string
{
    global $answered, $booted;
    $age = number_format(microtime(true) - $booted, 1);
    $pid = getmypid();
    return "<!doctype html><meta charset=utf-8><link rel=stylesheet href=/style.css><title>$title</title>"
        . "<h1>$title</h1>$body<p><small>Process $pid, request $answered, booted $age s ago.</small>";
}

$answered = 0;
$handle = static function () use ($routes, &$answered): void {
    $answered++;
    $route = $routes[parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH)] ?? null;
    if ($route === null) {
        http_response_code(404);
    }
    echo $route === null ? page('Not found', '') : $route();
};

while (frankenphp_handle_request($handle)) {
    gc_collect_cycles();
}
