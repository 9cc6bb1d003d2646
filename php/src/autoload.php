<?php

/**
 * Loads the classes of this package where Composer does not: `require getenv('FAIRLEAD_PHP') . '/src/autoload.php';`
 */

declare(strict_types=1);

spl_autoload_register(static function (string $class): void {
    if (!str_starts_with($class, 'Fairlead\\')) {
        return;
    }
    $name = str_starts_with($class, 'Fairlead\\Worker\\') ? substr($class, 16) : substr($class, 9);
    $file = __DIR__ . '/' . str_replace('\\', '/', $name) . '.php';
    if (is_file($file)) {
        require $file;
    }
});
