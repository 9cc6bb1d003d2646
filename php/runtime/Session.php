<?php

declare(strict_types=1);

namespace Fairlead\Runtime;

use Throwable;

/**
 * Between two requests, PHP's session module must forget the one before: its id, its data, whether there was one.
 *
 * @internal
 */
final class Session
{
    private static bool $loaded = false;
    /** Setting session.auto_start, which no script can change. */
    private static bool $starts = false;
    /** The id that was taken from the cookie on PHP's behalf. */
    private static ?string $adopted = null;
    /** Whether PHP would not look for an id itself, since one was left in it that cannot be taken away. */
    private static bool $adopts = false;

    public static function boot(): void
    {
        self::$loaded = \extension_loaded('session');
        self::$starts = self::$loaded && (bool) \ini_get('session.auto_start');
        if (self::$loaded && \session_status() === \PHP_SESSION_ACTIVE) {
            \session_destroy(); // of session.auto_start: it is nobody's
        }
        self::wipe();
    }

    public static function begin(): void
    {
        self::$adopted = null;
        if (self::$adopts && \ini_get('session.use_cookies')) {
            $id = $_COOKIE[\session_name()] ?? '';
            if (\is_string($id) && $id !== '') {
                \session_id($id);
                self::$adopted = $id;
            }
        }
        if (self::$starts) {
            \session_start();
        }
    }

    /** Stores what the request has changed. */
    public static function close(): void
    {
        if (!self::$loaded || \session_status() !== \PHP_SESSION_ACTIVE) {
            return;
        }
        try {
            \session_write_close();
        } catch (Throwable $e) {
            Failure::report($e);
        }
        if (self::$adopted !== null && !Reply::$headSent && \session_id() === self::$adopted) {
            self::takeBackCookie(self::$adopted);
        }
    }

    public static function wipe(): void
    {
        // The session's data are behind this reference: elsewhere they are out of reach.
        if (isset($_SESSION)) {
            $_SESSION = [];
            unset($_SESSION);
        }
        if (!self::$loaded || \session_id() === '') {
            return;
        }
        Settings::sessionUsed();
        self::$adopts = \session_module_name() === 'user';
        if (self::$adopts) {
            // The handler is the script's, and cannot be put back once it is taken out.
            \session_id('');
            return;
        }
        // With an id that is not one, PHP drops it; with a storage that does not open, it makes no other. That is the one
        // way to the state in which PHP looks for the id of the next client's cookie.
        $module = \session_module_name();
        $path = (string) \ini_get('session.save_path');
        \set_error_handler(static fn(): bool => true);
        try {
            if ($module !== 'files') {
                \session_module_name('files');
            }
            \ini_alter('session.save_path', '0;77777;' . \sys_get_temp_dir());
            \session_id("'");
            if (\session_start()) {
                // Not a PHP that we know: next best.
                \session_destroy();
                self::$adopts = true;
            }
        } finally {
            \ini_alter('session.save_path', $path);
            if ($module !== 'files' && \is_string($module)) {
                \session_module_name($module);
            }
            \restore_error_handler();
        }
    }

    /** PHP sends no cookie for an id that came by one. */
    private static function takeBackCookie(string $id): void
    {
        $own = 'Set-Cookie: ' . \session_name() . '=' . \rawurlencode($id) . ';';
        $cookies = [];
        $found = false;
        foreach (\headers_list() as $line) {
            if (\strncasecmp($line, 'Set-Cookie:', 11) !== 0) {
                continue;
            }
            if (\str_starts_with($line, $own) && \stripos($line, 'expires=') === false) {
                $found = true;
            } else {
                $cookies[] = $line;
            }
        }
        if ($found) {
            \header_remove('Set-Cookie');
            foreach ($cookies as $line) {
                \header($line, false);
            }
        }
    }
}
