<?php

declare(strict_types=1);

namespace Fairlead\Runtime;

/**
 * What a request has changed of the process, and the next one must not find: ini settings, environment variables, locale,
 * time zone, working folder and umask.
 *
 * @internal
 */
final class Settings
{
    /** Settings that have functions of their own: the others are changed by ini_set(), which tells. */
    private const WATCHED = [
        'default_charset', 'ignore_user_abort', 'include_path', 'max_execution_time', 'session.cache_expire',
        'session.cache_limiter', 'session.cookie_domain', 'session.cookie_httponly', 'session.cookie_lifetime',
        'session.cookie_path', 'session.cookie_samesite', 'session.cookie_secure', 'session.name', 'session.save_path',
    ];

    /** Handlers stay, as in FrankenPHP, and so must what selects them. */
    private const LEFT = ['session.save_handler' => true];

    /** @var array<string, true>|null What is restored; null before the first request */
    private static ?array $kinds = null;
    /** Whether what the first request leaves is what the application set when it booted. */
    private static string $baseline = 'auto';
    private static bool $first = true;
    private static int $files = 0;

    /** @var array<string, string> The values that are restored, by name: of those watched, and of those that were set */
    private static array $watched = [];
    /** @var array<string, string> Those of them that any request may have changed */
    private static array $always = [];
    /** @var array<string, string> */
    private static array $set = [];
    /** @var list<string> */
    private static array $session = [];
    private static bool $sessionUsed = false;
    /** @var array<string, string> */
    private static array $environment = [];
    private static string $zone = '';
    private static string $locale = '';
    private static string $charset = '';
    private static string $language = '';
    private static string $folder = '';
    private static int $umask = 0;
    private static int $errors = 0;

    public static function boot(): void
    {
        $kinds = \getenv('FAIRLEAD_RESTORE');
        self::$kinds = \array_fill_keys(\explode(',', $kinds === false ? 'ini,env,locale,timezone,folder,umask' : $kinds), true);
        $baseline = \getenv('FAIRLEAD_RESTORE_TO');
        self::$baseline = $baseline === 'boot' || $baseline === 'first' ? $baseline : 'auto';
        self::$files = \count(\get_included_files());
        if (\extension_loaded('session')) {
            self::$session = \array_keys(\array_diff_key(\ini_get_all('session', false) ?: [], self::LEFT));
        }
        self::keep();
    }

    /** Takes the environment as it is for the application's. */
    public static function keepEnvironment(): void
    {
        self::$environment = \getenv();
    }

    /** To be told before a setting is changed. */
    public static function changing(string $name): void
    {
        if (self::$kinds !== null && !isset(self::$set[$name]) && !isset(self::LEFT[$name])) {
            $old = \ini_get($name);
            if ($old !== false) {
                self::$set[$name] = $old;
            }
        }
    }

    public static function sessionUsed(): void
    {
        self::$sessionUsed = true;
    }

    public static function restore(): void
    {
        if (self::$first) {
            self::$first = false;
            // Many applications boot in their first request: then it has loaded most of their code.
            $boots = self::$baseline === 'auto' && \count(\get_included_files()) > self::$files;
            if ($boots || self::$baseline === 'first') {
                self::keep();
                self::keepEnvironment();
                return;
            }
        }
        if (isset(self::$kinds['ini'])) {
            self::restoreIni();
        }
        if (isset(self::$kinds['env'])) {
            self::restoreEnvironment();
        }
        if (isset(self::$kinds['timezone']) && \date_default_timezone_get() !== self::$zone) {
            \date_default_timezone_set(self::$zone);
        }
        if (isset(self::$kinds['locale'])) {
            if (\setlocale(\LC_ALL, '0') !== self::$locale) {
                \setlocale(\LC_ALL, self::$locale);
            }
            if (self::$charset !== '' && \mb_internal_encoding() !== self::$charset) {
                \mb_internal_encoding(self::$charset);
            }
            if (self::$language !== '' && \Locale::getDefault() !== self::$language) {
                \Locale::setDefault(self::$language);
            }
        }
        if (isset(self::$kinds['folder']) && self::$folder !== '' && \getcwd() !== self::$folder) {
            // It may be gone, or closed to us: a deploy has taken it away.
            @\chdir(self::$folder);
        }
        if (isset(self::$kinds['umask'])) {
            \umask(self::$umask);
        }
    }

    private static function keep(): void
    {
        self::$set = [];
        self::$watched = [];
        foreach ([...self::WATCHED, ...self::$session] as $name) {
            $value = \ini_get($name);
            if ($value !== false) {
                self::$watched[$name] = $value;
            }
        }
        self::$always = \array_intersect_key(self::$watched, \array_flip(self::WATCHED));
        self::$errors = \error_reporting();
        self::$zone = \date_default_timezone_get();
        self::$locale = (string) \setlocale(\LC_ALL, '0');
        self::$charset = \function_exists('mb_internal_encoding') ? (string) \mb_internal_encoding() : '';
        self::$language = \class_exists('Locale', false) ? \Locale::getDefault() : '';
        self::$folder = (string) \getcwd();
        self::$umask = \umask();
    }

    private static function restoreIni(): void
    {
        if (\error_reporting() !== self::$errors) {
            \error_reporting(self::$errors);
        }
        foreach (self::$sessionUsed ? self::$watched : self::$always as $name => $value) {
            if (\ini_get($name) !== $value) {
                self::put($name, $value);
            }
        }
        self::$sessionUsed = false;
        if (self::$set === []) {
            return;
        }
        foreach (self::$set as $name => $value) {
            if ($name !== 'error_reporting' && \ini_get($name) !== $value) {
                self::put($name, $value);
            }
        }
        self::$set = [];
    }

    private static function put(string $name, string $value): void
    {
        // A setting without a value and an empty one look the same; some mind the difference.
        if ($value === '') {
            \ini_restore($name);
            if (\ini_get($name) === '') {
                return;
            }
        }
        @\ini_alter($name, $value);
    }

    private static function restoreEnvironment(): void
    {
        $now = \getenv();
        if ($now === self::$environment) {
            return;
        }
        foreach (\array_diff_key($now, self::$environment) as $name => $value) {
            \putenv((string) $name);
        }
        foreach (self::$environment as $name => $value) {
            if (($now[$name] ?? null) !== $value) {
                \putenv("$name=$value");
            }
        }
    }
}
