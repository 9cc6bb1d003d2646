<?php

/** What the application answers: the same through every door. */

declare(strict_types=1);

namespace Parity;

use RuntimeException;

require_once __DIR__ . '/In.php';
require_once __DIR__ . '/Out.php';
require_once __DIR__ . '/Session.php';

function answer(In $in): Out
{
    // An application's own error page; what it lets through is the server's business.
    try {
        return route($in);
    } catch (RuntimeException $e) {
        return Out::json(['error' => $e->getMessage()], 500);
    }
}

function route(In $in): Out
{
    $method = $in->method === 'HEAD' ? 'GET' : $in->method;
    if (preg_match('#^/status/(\d{3})$#', $in->path, $match) === 1) {
        $status = (int) $match[1];
        return new Out($status === 204 || $status === 304 ? '' : "status $status", $status);
    }
    return match ("$method $in->path") {
        'GET /' => new Out('<h1>Hello</h1>'),
        'GET /pid' => new Out((string) getmypid(), 200, 'text/plain;charset=UTF-8'),
        'GET /count' => count_visits($in),
        'GET /form' => form($in),
        'POST /form' => form_sent($in),
        'POST /upload' => Out::json(['post' => $in->post, 'files' => files($in->files)]),
        'GET /stream' => new Out(pieces(5, 1000), 200, 'text/plain;charset=UTF-8'),
        'GET /json' => Out::json(['query' => $in->query, 'n' => 1.5, 'text' => 'grün']),
        'POST /json' => validated($in),
        'GET /caught' => throw new RuntimeException('caught by the application'),
        'GET /uncaught' => throw new \LogicException('caught by nobody'),
        'GET /cookies' => cookies($in),
        'GET /headers' => headers($in),
        'PUT /echo', 'PATCH /echo', 'DELETE /echo', 'POST /echo' => Out::json([
            'method' => $in->method,
            'type' => $in->headers['content-type'] ?? null,
            'length' => strlen($in->body),
            'sha1' => sha1($in->body),
        ]),
        'GET /query' => Out::json(['count' => count($in->query, COUNT_RECURSIVE), 'sha1' => sha1(serialize($in->query))]),
        'GET /redirect' => Out::redirect($in->query['to'] ?? '/', (int) ($in->query['status'] ?? 302)),
        'GET /empty' => new Out(''),
        'GET /big' => new Out(str_repeat("0123456789abcde\n", 20_000), 200, 'text/plain;charset=UTF-8'),
        'GET /binary' => new Out(implode('', array_map(chr(...), range(0, 255))), 200, 'application/octet-stream'),
        default => new Out("<h1>No page $in->path</h1>", 404),
    };
}

function count_visits(In $in): Out
{
    $count = $in->session->get('count', 0) + 1;
    $in->session->put('count', $count);
    return new Out("visit $count");
}

function form(In $in): Out
{
    $token = $in->session->get('token') ?? bin2hex(random_bytes(16));
    $in->session->put('token', $token);
    $notes = array_map(
        static fn (string $text) => '<p>' . htmlspecialchars($text) . '</p>',
        $in->session->pull('flash', []),
    );
    $old = htmlspecialchars($in->session->pull('old', ''));
    return new Out(implode($notes) . "<form method=post><input name=token value=$token><input name=name value='$old'></form>");
}

function form_sent(In $in): Out
{
    if (($in->post['token'] ?? '') !== $in->session->get('token')) {
        return new Out('Page expired', 419);
    }
    $name = $in->post['name'] ?? '';
    $errors = [];
    if (!is_string($name) || $name === '') {
        $errors[] = 'A name is needed';
    }
    if (!ctype_digit($in->post['age'] ?? '')) {
        $errors[] = 'An age is a number';
    }
    $in->session->put('flash', $errors ?: ["Welcome, $name"]);
    if ($errors !== []) {
        $in->session->put('old', $name);
    }
    return Out::redirect('/form', 303);
}

function validated(In $in): Out
{
    $data = json_decode($in->body, true);
    if (!is_array($data)) {
        return Out::json(['message' => 'No JSON'], 400);
    }
    return isset($data['title'])
        ? Out::json(['title' => $data['title'], 'all' => $data], 201)
        : Out::json(['message' => 'Invalid', 'errors' => ['title' => ['The title is required']]], 422);
}

/** @param array<string, mixed> $tree */
function files(array $tree): array
{
    return array_map(static function (array $node): array {
        if (!isset($node['error']) || !is_int($node['error'])) {
            return files($node);
        }
        $read = $node['error'] === UPLOAD_ERR_OK ? sha1_file($node['tmp']) : null;
        return ['name' => $node['name'], 'mime' => $node['mime'], 'size' => $node['size'], 'error' => $node['error'], 'sha1' => $read];
    }, $tree);
}

function pieces(int $count, int $size): \Generator
{
    for ($i = 0; $i < $count; $i++) {
        yield str_repeat((string) $i, $size);
    }
}

function cookies(In $in): Out
{
    $cookies = $in->cookies;
    ksort($cookies);
    return Out::json($cookies)
        ->with('Set-Cookie', 'plain=1')
        ->with('Set-Cookie', 'full=a%20b; Path=/x; Max-Age=60; Secure; HttpOnly; SameSite=Lax')
        ->with('Set-Cookie', 'gone=; expires=Thu, 01-Jan-1970 00:00:01 GMT; Max-Age=0');
}

function headers(In $in): Out
{
    $seen = array_intersect_key($in->headers, array_flip(['accept', 'accept-language', 'x-one', 'x-many', 'user-agent', 'referer', 'authorization']));
    ksort($seen);
    return Out::json($seen)
        ->with('X-One', '1')
        ->with('Link', '</a.css>; rel=preload')
        ->with('Link', '</b.js>; rel=preload')
        ->with('Vary', 'Accept')
        ->with('Cache-Control', 'private, max-age=5')
        ->with('X-Umlaut', "gr\xc3\xbcn");
}
