<?php

/**
 * Lets a stock php-cgi (8.1 or later) run FrankenPHP's worker scripts for Fairlead: loaded by auto_prepend_file, with the
 * functions of disabled_functions.txt in disable_functions. README.md tells what it does and where it differs.
 */

declare(strict_types=1);

namespace Fairlead\Runtime;

if (!\class_exists(Loop::class, false)) {
    require __DIR__ . '/Connection.php';
    require __DIR__ . '/Failure.php';
    require __DIR__ . '/Files.php';
    require __DIR__ . '/Input.php';
    require __DIR__ . '/Loop.php';
    require __DIR__ . '/Pairs.php';
    require __DIR__ . '/PhpStream.php';
    require __DIR__ . '/Reply.php';
    require __DIR__ . '/RequestHead.php';
    if (!\class_exists(\Fairlead\Internal\RequestHead::class, false)) {
        require __DIR__ . '/../src/Internal/RequestHead.php';
    }
    require __DIR__ . '/Session.php';
    require __DIR__ . '/Settings.php';
    require __DIR__ . '/Superglobals.php';
    require __DIR__ . '/functions.php';
    if (\getenv('FAIRLEAD_WORKER') === '1') {
        require __DIR__ . '/stand_ins.php';
        Loop::boot();
    }
}
