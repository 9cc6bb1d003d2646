<?php

use Fairlead\Request;
use Fairlead\Worker;

require getenv('FAIRLEAD_PHP') . '/src/autoload.php';
require __DIR__ . '/pages.php';

Worker::create()->serve(static fn (Request $request) => new Fairlead\Response(
    200,
    ['Content-Type' => 'text/html; charset=UTF-8'],
    Bench\page($request->path),
));
