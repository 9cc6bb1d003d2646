<?php

declare(strict_types=1);

namespace Fairlead\Runtime;

/**
 * The body of the running request: what php://input reads.
 *
 * @internal
 */
final class Input
{
    private static string $bytes = '';
    private static ?string $file = null;
    /** A file of ours, for who needs the body under a name. */
    private static ?string $copy = null;
    private static bool $shown = false;

    public static function open(string $bytes, ?string $file): void
    {
        // Without a body, PHP's own php://input is right: it is empty.
        if ($bytes !== '' || $file !== null) {
            self::$bytes = $bytes;
            self::$file = $file;
            self::$shown = true;
            PhpStream::install();
        }
    }

    public static function close(): void
    {
        if (self::$shown) {
            PhpStream::remove();
            if (self::$copy !== null) {
                @\unlink(self::$copy);
            }
            self::$bytes = '';
            self::$file = self::$copy = null;
            self::$shown = false;
        }
    }

    /** The body; null when it is in a file. */
    public static function bytes(): ?string
    {
        return self::$file === null ? self::$bytes : null;
    }

    /**
     * The file with the body, from its beginning.
     *
     * @return resource|false
     */
    public static function file()
    {
        return \fopen((string) self::$file, 'rb');
    }

    /** The path of a file with the body; null when there can be none. */
    public static function path(): ?string
    {
        if (self::$file !== null || self::$copy !== null) {
            return self::$file ?? self::$copy;
        }
        $path = \tempnam(\sys_get_temp_dir(), 'php');
        if ($path === false || \file_put_contents($path, self::$bytes) === false) {
            return null;
        }
        return self::$copy = $path;
    }
}
