<?php

declare(strict_types=1);

use Fairlead\Request;
use Fairlead\Response;
use Fairlead\Worker;

// In a project of yours: composer require fairlead/worker, and vendor/autoload.php. This is the copy that comes with the server.
require getenv('FAIRLEAD_PHP') . '/src/autoload.php';

// The boot: what a framework does before it can answer. It is paid once for each worker.
$booted = microtime(true);
$answered = 0;
$routes = [
    '/' => static fn (): Response => page('A worker', <<<HTML
        <p>This PHP process booted once and has answered every request since. Reload, and watch the count.</p>
        <form method="post" action="/greet"><input name="name" placeholder="Your name"><button>Greet</button></form>
        <p><a href="/clock">A page that is sent while it is made</a></p>
        HTML),
    '/greet' => static fn (Request $request): Response => page(
        'Hello, ' . htmlspecialchars((string) ($request->post()['name'] ?? 'you')),
        '<p>Nothing of you stays here: a worker has no session of its own.</p>',
    ),
    '/clock' => static fn (Request $request): Response => new Response(
        200,
        ['Content-Type' => 'text/html; charset=utf-8', 'X-Accel-Buffering' => 'no'],
        clock($request),
    ),
    '/fail' => static fn () => throw new RuntimeException('This costs one request. The worker goes on.'),
];

function page(string $title, string $body, int $status = 200): Response
{
    global $answered, $booted;
    $age = number_format(microtime(true) - $booted, 1);
    $pid = getmypid();
    $html = "<!doctype html><meta charset=utf-8><link rel=stylesheet href=/style.css><title>$title</title>"
        . "<h1>$title</h1>$body<p><small>Process $pid, request $answered, booted $age s ago.</small>";
    return new Response($status, ['Content-Type' => 'text/html; charset=utf-8'], $html);
}

/** Each item is sent at once. When the client leaves, the generator is dropped at its next `yield`. */
function clock(Request $request): Generator
{
    yield '<!doctype html><meta charset=utf-8><link rel=stylesheet href=/style.css><title>A clock</title><h1>A clock</h1><ol>';
    for ($n = 0; $n < 5 && $request->timeLeft() > 1; $n++) {
        yield '<li>' . date('H:i:s');
        usleep(500_000);
    }
    yield '</ol><p>Until here this worker had no other request.';
}

Worker::create()->serve(static function (Request $request) use ($routes, &$answered): Response {
    $answered++;
    $route = $routes[parse_url($request->path, PHP_URL_PATH)] ?? null;
    return $route === null ? page('Not found', '', 404) : $route($request);
});
