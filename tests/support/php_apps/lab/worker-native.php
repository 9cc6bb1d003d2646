<?php

declare(strict_types=1);

namespace Lab;

use Fairlead\Request;
use Fairlead\Response;
use Fairlead\Worker;

require getenv('FAIRLEAD_PHP') . '/src/autoload.php';
require __DIR__ . '/lab.php';
is_file(__DIR__ . '/boot.php') && require __DIR__ . '/boot.php';

note('boots');
register_shutdown_function(static fn () => note('ends'));
Worker::create()->serve(static fn (Request $request) => new Response(
    200,
    ['Content-Type' => $request->path === '/sse' ? 'text/event-stream' : 'text/html; charset=UTF-8'],
    lab($request->path, $request->query(), $request->body()),
));
