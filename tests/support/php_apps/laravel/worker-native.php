<?php

/** Laravel behind Fairlead's own worker. */

declare(strict_types=1);

use Fairlead\Request as Given;
use Fairlead\UploadedFile as GivenFile;
use Fairlead\Worker;
use Illuminate\Http\Request;
use Symfony\Component\HttpFoundation\File\UploadedFile;
use Symfony\Component\HttpFoundation\Response;

require getenv('FAIRLEAD_PHP') . '/src/autoload.php';
require __DIR__ . '/prepared.php';
$answer = require __DIR__ . '/sandbox.php';

$files = static function (array $given) use (&$files): array {
    return array_map(static fn (array|GivenFile $file) => is_array($file)
        ? $files($file)
        : new UploadedFile($file->path, $file->name, $file->type, $file->error, true), $given);
};
$worker = Worker::create();
while (($given = $worker->next()) !== null) {
    $symfony = new Symfony\Component\HttpFoundation\Request(
        $given->query(),
        $given->post(),
        [],
        $given->cookies(),
        $files($given->files()),
        $given->server,
        $given->body(),
    );
    $answer(Request::createFromBase($symfony), static function (Response $response) use ($given, $worker): void {
        [$status, $headers, $body] = prepared($response);
        // It would say how long the body is, which php-fpm does not know.
        $worker->respond($status, $headers, $given->method === 'HEAD' ? '' : $body);
    });
    gc_collect_cycles();
}
