<?php

declare(strict_types=1);

namespace Fairlead\Runtime;

/**
 * What a form has uploaded: Fairlead has put the files where they are.
 *
 * @internal
 */
final class Files
{
    /** @var array<string, true> The uploads of this request that have not been moved, by path */
    private static array $paths = [];

    /**
     * As $_FILES has them.
     *
     * @param list<array{string, string, string, string, int, int}> $files
     * @param list<array{string, string}> $fields
     * @return array<mixed>
     */
    public static function accept(array $files, array $fields): array
    {
        $most = self::limitOf($fields);
        // Unlike fields they are not counted (max_input_vars): max_file_uploads is their limit.
        $all = [];
        foreach ($files as [$param, $filename, $mime, $path, $error, $size]) {
            if (!self::isBalanced($param)) {
                break;
            }
            if ($error === \UPLOAD_ERR_OK && $most > 0 && $size > $most) {
                $error = \UPLOAD_ERR_FORM_SIZE;
            }
            if ($error === \UPLOAD_ERR_OK) {
                self::$paths[$path] = true;
            } else {
                [$mime, $path, $size] = ['', '', 0];
            }
            $slash = \max((int) \strrpos("/$filename", '/'), (int) \strrpos("/$filename", '\\'));
            $values = [
                'name' => \substr($filename, $slash),
                'full_path' => $filename,
                'type' => \explode(';', $mime, 2)[0],
                'tmp_name' => $path,
                'error' => $error,
                'size' => $size,
            ];
            // photos[main][] becomes photos[name][main][].
            $at = \str_ends_with($param, ']') ? \strpos($param, '[') : false;
            $base = $at === false ? $param : \substr($param, 0, $at);
            $rest = $at === false ? '' : \substr($param, $at);
            // PHP reads the name, and changes it where it has to.
            \parse_str(\rawurlencode($base) . '=', $names);
            $name = \array_key_first($names);
            if ($name === null) {
                continue;
            }
            \preg_match_all('/\[([^\]]*)\]/', $rest, $steps);
            foreach ($values as $key => $value) {
                self::put($all, [$name, $key, ...$steps[1]], $value);
            }
        }
        return $all;
    }

    /**
     * @param array<mixed> $all
     * @param list<int|string> $path
     */
    private static function put(array &$all, array $path, string|int $value): void
    {
        $at = &$all;
        foreach ($path as $step) {
            if (!\is_array($at)) {
                $at = [];
            }
            $step = \is_string($step) ? \ltrim($step, " \t\n\r\v\f") : $step;
            if ($step === '') {
                $at = &$at[];
            } else {
                $at = &$at[$step];
            }
        }
        $at = $value;
    }

    public static function has(string $path): bool
    {
        return isset(self::$paths[$path]);
    }

    public static function move(string $from, string $to): bool
    {
        if (!isset(self::$paths[$from])) {
            return false;
        }
        if (@\rename($from, $to)) {
            $mask = \umask(077);
            \umask($mask);
            @\chmod($to, 0666 & ~$mask);
        } elseif (\copy($from, $to)) {
            // To another file system, or out of a folder that is not ours.
            @\unlink($from);
        } else {
            \trigger_error("move_uploaded_file(): Unable to move \"$from\" to \"$to\"", \E_USER_WARNING);
            return false;
        }
        unset(self::$paths[$from]);
        return true;
    }

    public static function forget(): void
    {
        self::$paths = [];
    }

    /**
     * What the form says is the most a file may have.
     *
     * @param list<array{string, string}> $fields
     */
    private static function limitOf(array $fields): int
    {
        $most = 0;
        foreach ($fields as [$name, $value]) {
            if (\strcasecmp($name, 'MAX_FILE_SIZE') === 0) {
                $most = (int) $value;
            }
        }
        return $most;
    }

    /** PHP takes no upload whose name has stray brackets, nor any after it. */
    private static function isBalanced(string $name): bool
    {
        $open = 0;
        for ($i = 0, $end = \strlen($name); $i < $end; $i++) {
            if ($name[$i] === '[') {
                $open++;
            } elseif ($name[$i] === ']') {
                $next = $name[$i + 1] ?? '[';
                if (--$open < 0 || $next !== '[') {
                    return false;
                }
            }
        }
        return $open === 0;
    }
}
