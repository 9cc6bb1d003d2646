<?php
declare(strict_types=1);

$page = trim((string) parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH), '/');

function show(string $title, string $body): void
{
    header('Content-Type: text/html; charset=utf-8');
    echo <<<HTML
        <!doctype html>
        <html lang="en">
        <head><meta charset="utf-8"><title>$title · Fairlead</title><link rel="stylesheet" href="/style.css"></head>
        <body>
        <nav><a href="/">request</a> <a href="/slow">slow</a> <a href="/events">events</a> <a href="/upload">upload</a></nav>
        <main><h1>$title</h1>
        $body
        </main>
        </body></html>
        HTML;
}

function e(mixed $value): string
{
    return htmlspecialchars((string) $value);
}

switch ($page) {
    case '':
        $rows = '';
        $shown = $_SERVER;
        ksort($shown);
        foreach ($shown as $key => $value) {
            if (is_scalar($value)) {
                $rows .= '<tr><th>' . e($key) . '</th><td>' . e($value) . "</td></tr>\n";
            }
        }
        show('Hello from PHP ' . PHP_VERSION, "<p>Process " . getmypid() . " answered you. Try <code>/any/path?x=1</code>.</p>\n<table>$rows</table>");
        break;

    case 'slow':
        usleep(1_000_000);
        show('A slow page', '<p>That took a second. Open it in many tabs: they are served in the order you opened them.</p>');
        break;

    case 'events':
        if (!isset($_GET['stream'])) {
            show('Server-sent events', '<pre id="log"></pre><script src="/events.js"></script>');
            break;
        }
        header('Content-Type: text/event-stream');
        header('Cache-Control: no-store');
        for ($i = 1; $i <= 10; $i++) {
            echo "data: $i at " . date('H:i:s') . "\n\n";
            if (ob_get_level() > 0) {
                ob_flush();
            }
            flush();
            usleep(500_000);
        }
        echo "event: end\ndata: bye\n\n";
        break;

    case 'upload':
        $said = '';
        foreach ($_FILES as $file) {
            $said = $file['error'] === UPLOAD_ERR_OK
                ? '<p><b>' . e($file['name']) . '</b>: ' . e($file['size']) . ' bytes, sha256 <code>' . hash_file('sha256', $file['tmp_name']) . '</code></p>'
                : '<p>Upload failed with error ' . e($file['error']) . '</p>';
        }
        show('Upload a file', $said . '<form method="post" enctype="multipart/form-data"><input type="file" name="file"> <button>Send</button></form>');
        break;

    default:
        http_response_code(404);
        show('Not found', '<p>No page <code>' . e($page) . '</code> here. ' . e($_SERVER['REQUEST_URI']) . ' came through the front controller.</p>');
}
