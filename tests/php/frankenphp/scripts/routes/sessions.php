<?php

return [
    'session-set' => static function (): void {
        session_start();
        $_SESSION['secret'] = $_GET['v'];
        echo session_id();
    },
    'session-get' => static function (): void {
        session_start();
        echo $_SESSION['secret'] ?? 'none';
    },
    'session-look' => static function (): void {
        echo json_encode([session_id(), session_status(), isset($_SESSION), @session_encode()]);
    },
    'session-name' => static function (): void {
        session_name('OTHER');
        session_set_cookie_params(['lifetime' => 60, 'samesite' => 'Lax']);
        session_start(['gc_maxlifetime' => 99]);
        $_SESSION['secret'] = 'other';
    },
    'session-ini' => static function (): void {
        echo json_encode([session_name(), session_get_cookie_params()['samesite'], ini_get('session.gc_maxlifetime')]);
    },
    'session-regenerate' => static function (): void {
        session_start();
        session_regenerate_id(true);
        echo session_id();
    },
    'session-destroy' => static function (): void {
        session_start();
        session_destroy();
        echo session_id();
    },
    'session-reference' => static function (): void {
        static $kept = [];
        if ($kept === []) {
            session_start();
            $_SESSION['secret'] = 'kept';
            $kept[] = &$_SESSION;
        }
        echo json_encode($kept[0]);
    },
];
