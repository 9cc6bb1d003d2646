<?php

/** Laravel, booted once; each request gets a copy of what has booted. */

declare(strict_types=1);

use Illuminate\Container\Container;
use Illuminate\Contracts\Http\Kernel;
use Illuminate\Foundation\Application;
use Illuminate\Http\Request;
use Illuminate\Support\Facades\Facade;
use Symfony\Component\HttpFoundation\Response;

require __DIR__ . '/vendor/autoload.php';

/** @var Application $app */
$app = require __DIR__ . '/bootstrap/app.php';
// bootstrap() wants a request to be there.
$app->instance('request', Request::create('/'));
$app->make(Kernel::class)->bootstrap();
Facade::clearResolvedInstances();

/** @param callable(Response): void $send */
return static function (Request $request, callable $send) use ($app): void {
    $copy = clone $app;
    $config = clone $copy->make('config');
    foreach (['app' => $copy, Container::class => $copy, Application::class => $copy, 'config' => $config] as $name => $instance) {
        $copy->instance($name, $instance);
    }
    Container::setInstance($copy);
    Facade::setFacadeApplication($copy);
    Facade::clearResolvedInstances();
    $router = clone $copy->make('router');
    (fn () => $this->container = $copy)->call($router);
    $copy->instance('router', $router);
    foreach (['request', 'session', 'session.store', 'cookie', 'auth', 'auth.driver', 'translator', 'url', 'redirect', Kernel::class] as $name) {
        $copy->forgetInstance($name);
    }
    $kernel = $copy->make(Kernel::class);
    $response = $kernel->handle($request);
    $send($response);
    $kernel->terminate($request, $response);
};
