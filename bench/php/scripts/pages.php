<?php

declare(strict_types=1);

namespace Bench;

/** What `tiny.php` and `half.php` of the HTTP benchmark print. */
function page(string $path): string
{
    return $path === '/half.php' ? half() : 'hello';
}

function half(): string
{
    $keys = [];
    for ($i = 0; $i < 400; $i++) {
        $keys[] = md5("row-$i");
    }
    usort($keys, static fn (string $a, string $b): int => strcmp($a, $b));
    return '<p>' . htmlspecialchars(implode(' & ', $keys)) . "</p>\n";
}
