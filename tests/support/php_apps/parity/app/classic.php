<?php

/** The door of php-fpm and of FrankenPHP: superglobals in, header() and echo out. */

declare(strict_types=1);

namespace Parity;

require_once __DIR__ . '/routes.php';
require_once __DIR__ . '/plain.php';

function serve(): void
{
    $path = rawurldecode(explode('?', $_SERVER['REQUEST_URI'], 2)[0]);
    if (str_starts_with($path, '/plain/')) {
        plain(substr($path, 7));
        return;
    }
    $headers = [];
    foreach ($_SERVER as $name => $value) {
        if (str_starts_with($name, 'HTTP_')) {
            $headers[strtolower(strtr(substr($name, 5), '_', '-'))] = $value;
        }
    }
    if (($_SERVER['CONTENT_TYPE'] ?? '') !== '') {
        $headers['content-type'] = $_SERVER['CONTENT_TYPE'];
    }
    $in = new In(
        $_SERVER['REQUEST_METHOD'],
        $path,
        $_GET,
        $_POST,
        array_map(upload_tree(...), $_FILES),
        $_COOKIE,
        $headers,
        (string) file_get_contents('php://input'),
        new Session(),
    );
    $out = answer($in);
    $in->session->close();
    http_response_code($out->status);
    foreach ($out->headers as [$name, $value]) {
        header("$name: $value", $name !== 'Set-Cookie' && $name !== 'Link', $out->status);
    }
    if (is_string($out->body)) {
        echo $out->body;
        return;
    }
    foreach ($out->body as $piece) {
        echo $piece;
        flush();
    }
}

/** PHP's field-major arrays, turned inside out. */
function upload_tree(array $field): array
{
    if (!is_array($field['error'])) {
        return ['name' => $field['full_path'], 'mime' => $field['type'], 'size' => $field['size'], 'error' => $field['error'], 'tmp' => $field['tmp_name']];
    }
    $tree = [];
    foreach (array_keys($field['error']) as $key) {
        $tree[$key] = upload_tree(array_map(static fn (array $column) => $column[$key], $field));
    }
    return $tree;
}
