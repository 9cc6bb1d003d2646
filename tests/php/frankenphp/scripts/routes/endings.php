<?php

return [
    'exit' => static function (): void {
        http_response_code(418);
        header('X-Tea: pot');
        register_shutdown_function(static function (): void {
            echo ', from shutdown';
        });
        echo 'bye';
        exit(3);
    },
    'exit-session' => static function (): void {
        session_start();
        $_SESSION['name'] = 'exited';
        exit;
    },
    'throw' => static function (): void {
        header('X-Kept: 1');
        echo 'partly ';
        throw new DomainException('no <such> thing');
    },
    'throw-in-memory' => static function (): void {
        ini_set('log_errors', '0');
        throw new DomainException('again');
    },
    'throw-late' => static function (): void {
        echo 'sent ';
        flush();
        throw new DomainException('too late');
    },
    'throw-in-buffer' => static function (): void {
        ob_start(static function (): string {
            throw new DomainException('from a buffer');
        });
        echo 'x';
    },
    'catch-in-buffer' => static function (): void {
        ob_start(static function (): string {
            throw new DomainException('from a buffer');
        });
        echo 'x';
        try {
            ob_end_flush();
        } catch (DomainException) {
            header('X-Caught: 1');
        }
        echo str_repeat('lost', 10_000);
    },
    'handled' => static function (): void {
        set_exception_handler(static function (Throwable $e): void {
            http_response_code(422);
            echo 'handled: ', $e->getMessage();
        });
        throw new DomainException('mine');
    },
    'fatal' => static function (): void {
        echo 'x';
        eval('class A1 implements Traversable {}');
    },
    'fatal-late' => static function (): void {
        echo 'x';
        flush();
        eval('class A2 implements Traversable {}');
    },
    'memory' => static function (): void {
        $all = [];
        while (true) {
            $all[] = str_repeat('m', 100_000);
        }
    },
    'nested' => static function (): void {
        try {
            frankenphp_handle_request(static fn() => null);
        } catch (LogicException $e) {
            echo $e->getMessage();
        }
    },
    'sleep' => static function (): void {
        usleep(200_000);
        echo 'slept';
    },
];
