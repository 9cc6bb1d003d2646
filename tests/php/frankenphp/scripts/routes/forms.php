<?php

return [
    'form' => static function (): void {
        require __DIR__ . '/../plain.php';
    },
    'upload' => static function (): void {
        $path = $_FILES['f']['tmp_name'];
        $to = $_GET['to'];
        echo json_encode([
            is_uploaded_file($path),
            is_uploaded_file(__FILE__),
            move_uploaded_file(__FILE__, $to),
            move_uploaded_file($path, $to),
            is_uploaded_file($path),
            md5_file($to),
            decoct(fileperms($to) & 0777),
            is_file($path),
        ]);
    },
    'upload-again' => static function (): void {
        echo json_encode(is_uploaded_file($_GET['path']));
    },
    'input' => static function (): void {
        $raw = file_get_contents('php://input');
        $handle = fopen('php://input', 'rb');
        $part = fread($handle, 4);
        fseek($handle, -3, SEEK_END);
        $end = stream_get_contents($handle);
        echo json_encode([strlen($raw), md5($raw), $part, $end, file_get_contents('php://input') === $raw]);
    },
    'input-hash' => static function (): void {
        $raw = file_get_contents('php://input');
        echo json_encode([strlen($raw), md5($raw)]);
    },
    'streams' => static function (): void {
        $memory = fopen('php://memory', 'w+');
        fwrite($memory, 'abc');
        rewind($memory);
        $temp = new SplTempFileObject();
        $temp->fwrite("x\ny\n");
        $temp->rewind();
        file_put_contents('php://output', 'out ');
        ftruncate($memory, 2);
        file_put_contents('php://stderr', "to stderr\n");
        echo json_encode([
            stream_get_contents($memory),
            iterator_to_array($temp),
            file_get_contents('php://filter/read=string.toupper/resource=php://input'),
            file_get_contents('php://filter/read=string.rot13/resource=data:,abc'),
            @file_put_contents('php://input', 'x'),
            @fopen('php://nonsense', 'r'),
            file_exists('php://input'),
            fstat($memory)['size'],
        ]);
    },
    'include-input' => static function (): void {
        echo json_encode([
            @include 'php://input',
            @include 'php://filter/string.toupper/resource=php://input',
            @include 'php://filter/read=convert.base64-decode/resource=data:,PD9waHAgZWNobyAiZXZpbCI7',
        ]);
    },
    'filter-input' => static function (): void {
        $_GET['n'] = 'changed';
        echo json_encode([
            filter_input(INPUT_GET, 'n', FILTER_VALIDATE_INT),
            filter_input(INPUT_GET, 'none'),
            filter_input(INPUT_GET, 'none', FILTER_DEFAULT, FILTER_NULL_ON_FAILURE),
            filter_input(INPUT_GET, 'none', FILTER_VALIDATE_INT, ['options' => ['default' => 7]]),
            filter_input_array(INPUT_GET, ['n' => FILTER_VALIDATE_INT, 'x' => FILTER_DEFAULT]),
            filter_input_array(INPUT_POST),
            filter_has_var(INPUT_SERVER, 'REQUEST_URI'),
        ]);
    },
];
