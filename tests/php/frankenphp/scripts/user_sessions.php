<?php

// Sessions kept by a handler of the script's, set before the loop.

final class Kept implements SessionHandlerInterface
{
    /** @var array<string, string> */
    private array $all = [];

    public function open(string $path, string $name): bool
    {
        return true;
    }

    public function close(): bool
    {
        return true;
    }

    public function read(string $id): string|false
    {
        return $this->all[$id] ?? '';
    }

    public function write(string $id, string $data): bool
    {
        $this->all[$id] = $data;
        return true;
    }

    public function destroy(string $id): bool
    {
        unset($this->all[$id]);
        return true;
    }

    public function gc(int $max_lifetime): int|false
    {
        return 0;
    }
}

session_set_save_handler(new Kept(), true);
$routes = require __DIR__ . '/routes/sessions.php';
while (frankenphp_handle_request(static function () use ($routes): void {
    $routes[trim(strtok($_SERVER['REQUEST_URI'], '?'), '/')]();
}));
