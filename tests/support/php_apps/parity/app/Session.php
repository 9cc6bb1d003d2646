<?php

declare(strict_types=1);

namespace Parity;

/** PHP's own session; where PHP sees no cookies (in the cli), they are handled by hand. */
final class Session
{
    private bool $open = false;
    private bool $new = false;

    public function __construct(private readonly bool $byHand = false, private readonly ?string $cookie = null)
    {
    }

    public function get(string $key, mixed $default = null): mixed
    {
        $this->open();
        return $_SESSION[$key] ?? $default;
    }

    public function put(string $key, mixed $value): void
    {
        $this->open();
        $_SESSION[$key] = $value;
    }

    /** Takes a value out. */
    public function pull(string $key, mixed $default = null): mixed
    {
        $value = $this->get($key, $default);
        unset($_SESSION[$key]);
        return $value;
    }

    /** Writes it; the cookie that is to be sent, or null. */
    public function close(): ?string
    {
        if (!$this->open) {
            return null;
        }
        $id = session_id();
        session_write_close();
        $this->open = false;
        if (!$this->byHand) {
            return null;
        }
        unset($_SESSION);
        return $this->new ? "PHPSESSID=$id; path=/" : null;
    }

    private function open(): void
    {
        if ($this->open) {
            return;
        }
        $this->open = true;
        if (!$this->byHand) {
            session_start();
            return;
        }
        $this->new = $this->cookie === null;
        session_id($this->cookie ?? session_create_id());
        session_start(['use_cookies' => 0, 'cache_limiter' => '']);
    }
}
