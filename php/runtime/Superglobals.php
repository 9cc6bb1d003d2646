<?php

declare(strict_types=1);

namespace Fairlead\Runtime;

/**
 * $_SERVER, $_GET, $_POST, $_FILES, $_COOKIE and $_REQUEST of each request. $_ENV stays as it is.
 *
 * @internal
 */
final class Superglobals
{
    /** What started php-cgi as a CGI program, and us; the environment without it is the application's. */
    private const OURS = [
        'FAIRLEAD_INI_SCAN_DIR', 'FAIRLEAD_ROOT', 'FAIRLEAD_SOCKET', 'FAIRLEAD_TOKEN', 'GATEWAY_INTERFACE', 'PHP_INI_SCAN_DIR', 'QUERY_STRING',
        'REDIRECT_STATUS', 'REQUEST_METHOD',
        'SCRIPT_FILENAME', 'SCRIPT_NAME', 'SERVER_SOFTWARE',
    ];

    /** @var array<string, string> */
    private static array $environment = [];
    private static string $order = '';
    private static string $requestOrder = '';

    /** @var array<int, array<mixed>> What came, by INPUT_POST (0), INPUT_GET (1), INPUT_COOKIE (2) and INPUT_SERVER (5) */
    public static array $came = [];

    public static function boot(bool $worker = true): void
    {
        $scanned = \getenv('FAIRLEAD_INI_SCAN_DIR');
        $ours = \array_flip(self::OURS);
        self::$environment = \array_filter(
            \array_diff_key(\getenv(), $ours),
            // No header of a request, and never to be taken for one.
            static fn(int|string $name): bool => !\str_starts_with((string) $name, 'HTTP_')
                && !\in_array($name, ['HTTPS', 'CONTENT_TYPE', 'CONTENT_LENGTH'], true),
            \ARRAY_FILTER_USE_KEY,
        );
        if ($scanned !== false) {
            self::$environment['PHP_INI_SCAN_DIR'] = $_SERVER['PHP_INI_SCAN_DIR'] = $scanned;
        }
        if ($worker) {
            self::$environment['FRANKENPHP_WORKER'] = $_SERVER['FRANKENPHP_WORKER'] = '1';
            foreach (self::OURS as $name) {
                if (\str_starts_with($name, 'FAIRLEAD_')) {
                    unset($_SERVER[$name]);
                }
            }
            \putenv('FRANKENPHP_WORKER=1');
        }
        // A php-cgi that the application starts must not take them for its own.
        foreach (self::OURS as $name) {
            if (!\str_starts_with($name, 'FAIRLEAD_')) {
                \putenv($name);
            }
        }
        \putenv('FAIRLEAD_INI_SCAN_DIR');
        if ($scanned !== false) {
            \putenv("PHP_INI_SCAN_DIR=$scanned");
        }
        self::$order = \strtoupper((string) \ini_get('variables_order'));
        self::$requestOrder = \strtoupper((string) \ini_get('request_order') ?: self::$order);
        Pairs::boot();
    }

    /** @param array<string, mixed> $head */
    public static function fill(array $head): void
    {
        $server = $head['server'];
        $get = $post = $files = $cookie = [];
        $query = $server['QUERY_STRING'] ?? '';
        if ($query !== '' && \str_contains(self::$order, 'G')) {
            $get = Pairs::ofQuery($query);
        }
        // As in PHP, forms of other methods are the script's to read.
        if (($server['REQUEST_METHOD'] ?? '') === 'POST') {
            if (isset($head['post']) && \str_contains(self::$order, 'P')) {
                $post = Pairs::ofList($head['post']);
            }
            if (isset($head['files'])) {
                $files = Files::accept($head['files'], $head['post'] ?? []);
            }
        }
        if (isset($server['HTTP_COOKIE']) && \str_contains(self::$order, 'C')) {
            $cookie = Pairs::ofCookies($server['HTTP_COOKIE']);
        }
        if (isset($server['HTTP_AUTHORIZATION']) && !isset($server['PHP_AUTH_USER'])) {
            $server += self::authorization($server['HTTP_AUTHORIZATION']);
        }
        $server += self::$environment;
        self::$came = [$post, $get, $cookie, 5 => $server];

        // References to the arrays of the last request stay with what they had.
        unset($_SERVER, $_GET, $_POST, $_FILES, $_COOKIE, $_REQUEST);
        $_SERVER = $server;
        $_GET = $get;
        $_POST = $post;
        $_FILES = $files;
        $_COOKIE = $cookie;
        $_REQUEST = $get === [] && $post === [] && $cookie === [] ? [] : self::request($get, $post, $cookie);
    }

    /**
     * @param array<mixed> $get
     * @param array<mixed> $post
     * @param array<mixed> $cookie
     * @return array<mixed>
     */
    private static function request(array $get, array $post, array $cookie): array
    {
        $all = [];
        foreach (\str_split(self::$requestOrder) as $letter) {
            $more = match ($letter) {
                'G' => $get,
                'P' => $post,
                'C' => $cookie,
                default => [],
            };
            if ($more !== []) {
                $all = $all === [] ? $more : \array_replace_recursive($all, $more);
            }
        }
        return $all;
    }

    /** @return array<string, string> */
    private static function authorization(string $value): array
    {
        if (\strncasecmp($value, 'Basic ', 6) === 0) {
            $both = \explode(':', (string) \base64_decode(\substr($value, 6)), 2);
            return \count($both) === 2 ? ['PHP_AUTH_USER' => $both[0], 'PHP_AUTH_PW' => $both[1]] : [];
        }
        return \strncasecmp($value, 'Digest ', 7) === 0 ? ['PHP_AUTH_DIGEST' => \substr($value, 7)] : [];
    }

    /** @return array<string, string> The headers of the running request, by name */
    public static function headers(): array
    {
        $headers = [];
        // The environment's part has no name of a header.
        foreach (self::$came[5] ?? $_SERVER as $name => $value) {
            if (\strncmp((string) $name, 'HTTP_', 5) === 0) {
                $name = \substr((string) $name, 5);
            } elseif (($name !== 'CONTENT_TYPE' && $name !== 'CONTENT_LENGTH') || $value === '') {
                continue;
            }
            $headers[\strtr(\ucwords(\strtolower($name), '_'), '_', '-')] = $value;
        }
        return $headers;
    }
}
