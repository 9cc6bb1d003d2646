<?php

declare(strict_types=1);

namespace Fairlead;

use RuntimeException;

/** A file that came with a form. It is gone when the request is over, unless it has been moved. */
final class UploadedFile
{
    private bool $moved = false;

    /**
     * @param string $name as the client named it, without folders. Never a path to write to
     * @param string $fullPath as the client named it, with folders where it sent a folder
     * @param string $type as the client claims; may be empty
     * @param int $size in bytes
     * @param int $error UPLOAD_ERR_*
     * @param string $path where it is; empty with an error
     */
    public function __construct(
        public readonly string $name,
        public readonly string $fullPath,
        public readonly string $type,
        public readonly int $size,
        public readonly int $error,
        public readonly string $path,
    ) {
    }

    public function isValid(): bool
    {
        return $this->error === UPLOAD_ERR_OK && !$this->moved;
    }

    /** @throws RuntimeException */
    public function contents(): string
    {
        $this->check();
        $bytes = @file_get_contents($this->path);
        return $bytes !== false ? $bytes : throw new RuntimeException("Cannot read the uploaded file {$this->path}");
    }

    /**
     * @return resource
     * @throws RuntimeException
     */
    public function stream()
    {
        $this->check();
        return @fopen($this->path, 'rb') ?: throw new RuntimeException("Cannot read the uploaded file {$this->path}");
    }

    /**
     * Moves it, over what may be there. Its mode becomes that of a new file.
     *
     * @throws RuntimeException
     */
    public function moveTo(string $target): void
    {
        $this->check();
        if (!@rename($this->path, $target)) {
            $why = error_get_last()['message'] ?? 'unknown error';
            throw new RuntimeException("Cannot move the uploaded file to $target: $why");
        }
        $this->moved = true;
        @chmod($target, 0666 & ~umask());
    }

    private function check(): void
    {
        if (!$this->isValid()) {
            throw new RuntimeException(
                $this->moved ? 'The uploaded file has been moved already' : "The upload failed with error {$this->error}",
            );
        }
    }
}
