<?php

/** Pages as PHP has always had them: superglobals, header(), echo, exit. */

declare(strict_types=1);

namespace Parity;

function plain(string $page): void
{
    switch ($page) {
        case 'server':
            $hidden = '/^(?:REMOTE_PORT|REQUEST_TIME|REQUEST_TIME_FLOAT|REQUEST_DEADLINE|argv|argc|UNIQUE_ID|HTTP_X_REQUEST_ID)$/';
            $cgi = '/^(?:HTTP_|REQUEST_|SERVER_|REMOTE_|SCRIPT_|DOCUMENT_|PATH_INFO|PATH_TRANSLATED|PHP_|QUERY_STRING|CONTENT_|GATEWAY_|HTTPS|AUTH_TYPE)/';
            $known = array_filter($_SERVER, static fn (string $name) => preg_match($cgi, $name) && !preg_match($hidden, $name), ARRAY_FILTER_USE_KEY);
            ksort($known);
            tell($known);
            break;
        case 'globals':
            tell([$_GET, $_POST, $_REQUEST, $_COOKIE]);
            break;
        case 'files':
            $seen = $_FILES;
            array_walk_recursive($seen, static function (mixed &$value): void {
                if (is_string($value) && str_starts_with($value, sys_get_temp_dir())) {
                    $value = [is_uploaded_file($value), sha1_file($value), is_readable($value)];
                }
            });
            tell(['files' => $seen, 'post' => $_POST, 'input' => strlen(file_get_contents('php://input'))]);
            break;
        case 'move':
            $to = dirname(__DIR__) . '/storage/moved-' . bin2hex(random_bytes(4));
            $file = $_FILES['file'];
            tell([
                'never an upload' => @move_uploaded_file(__FILE__, $to),
                'moved' => move_uploaded_file($file['tmp_name'], $to),
                'twice' => @move_uploaded_file($file['tmp_name'], $to),
                'sha1' => sha1_file($to),
            ]);
            unlink($to);
            break;
        case 'input':
            $once = file_get_contents('php://input');
            $again = file_get_contents('php://input');
            $stream = fopen('php://input', 'r');
            fseek($stream, 3);
            tell([sha1($once), $once === $again, fread($stream, 5), $_SERVER['CONTENT_LENGTH'] ?? null]);
            break;
        case 'cookies':
            setcookie('a', 'b c;d', ['expires' => 2_000_000_000, 'path' => '/p', 'domain' => 'example.com', 'secure' => true, 'httponly' => true, 'samesite' => 'Strict']);
            setcookie('a', 'second');
            setrawcookie('raw', 'x%20y');
            setcookie('gone', '', 1);
            tell($_COOKIE);
            break;
        case 'exit':
            http_response_code(202);
            header('X-Left: early');
            echo 'before ';
            exit(3);
        case 'die':
            die('died with words');
        case 'status-line':
            header('HTTP/1.1 418 Short And Stout');
            echo 'teapot';
            break;
        case 'location':
            header('Location: /elsewhere');
            break;
        case 'location-201':
            header('Location: /made', true, 201);
            echo 'made';
            break;
        case 'fatal':
            header('X-Kept: yes');
            echo 'said before';
            nothing_of_that_name();
        case 'uncaught':
            throw new \LogicException('nobody catches this');
        case 'warning':
            echo 'a', $undefined ?? 'b', @file_get_contents('/nowhere'), 1 / 3, 'c';
            break;
        case 'buffers':
            ob_start(static fn (string $text) => strtoupper($text));
            echo 'loud ';
            ob_start(static fn (string $text) => strrev($text));
            echo 'backwards ';
            ob_start();
            echo 'thrown away';
            ob_clean();
            echo 'kept';
            break;
        case 'flush':
            echo 'one ';
            while (ob_get_level() > 0) {
                ob_end_flush();
            }
            flush();
            @header('X-Too-Late: 1');
            echo headers_sent() ? 'two' : 'not sent';
            break;
        case 'session':
            session_start();
            $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;
            echo $_SESSION['n'], ' ', isset($_COOKIE['PHPSESSID']) && $_COOKIE['PHPSESSID'] === session_id() ? 'same' : 'new';
            break;
        case 'session-new-id':
            session_start();
            $old = session_id();
            session_regenerate_id(true);
            echo $_SESSION['n'] ?? 'none', $old === session_id() ? ' same' : ' other';
            break;
        case 'session-end':
            session_start();
            $_SESSION = [];
            session_destroy();
            echo 'over';
            break;
        case 'headers':
            header('X-Twice: 1');
            header('X-Twice: 2');
            header('X-Both: 1');
            header('X-Both: 2', false);
            header('X-Removed: 1');
            header_remove('X-Removed');
            header('content-type: text/x-own');
            tell(headers_list());
            break;
        case 'getallheaders':
            $all = array_change_key_case(getallheaders());
            unset($all['host'], $all['x-request-id'], $all['connection']);
            ksort($all);
            // nginx's way is to tell php-fpm of an empty type and length.
            tell(array_filter($all, static fn (string $value) => $value !== ''));
            break;
        case 'auth':
            tell([$_SERVER['PHP_AUTH_USER'] ?? null, $_SERVER['PHP_AUTH_PW'] ?? null, $_SERVER['HTTP_AUTHORIZATION'] ?? null, $_SERVER['AUTH_TYPE'] ?? null]);
            break;
        case 'type':
            header('Content-Type: text/plain');
            echo 'with a charset';
            break;
        case 'no-type':
            echo '<p>html by default';
            break;
        case 'nothing':
            break;
        case 'length':
            header('Content-Length: 5');
            echo 'fives';
            break;
        case 'filter':
            tell([filter_input(INPUT_GET, 'n', FILTER_VALIDATE_INT), filter_has_var(INPUT_GET, 'n')]);
            break;
        case 'large':
            for ($i = 0; $i < 40; $i++) {
                echo str_repeat(chr(65 + $i % 26), 50_000);
            }
            break;
        default:
            http_response_code(404);
            echo 'no such page';
    }
}

function tell(mixed $value): void
{
    header('X-Told: yes');
    echo json_encode($value, JSON_PRETTY_PRINT | JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE);
}
