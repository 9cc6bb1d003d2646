<?php

declare(strict_types=1);

namespace Common;

/**
 * The PHP end of Goridge over pipes, from what goes over the wire: a header of 12 bytes (version and words of the header, flags,
 * length, CRC-32 of these, stream bits), options of 4 bytes each, the payload. All little endian.
 */
final class Goridge
{
    private const CONTROL = 0x01;
    private const JSON = 0x08;
    private const ERROR = 0x40;
    private const STREAM = 0x01;
    private const STOP = 0x02;

    /** @var resource */
    private $in;
    /** @var resource */
    private $out;

    public function __construct()
    {
        $this->in = fopen('php://stdin', 'rb');
        $this->out = fopen('php://stdout', 'wb');
        stream_set_write_buffer($this->out, 0);
        // What is printed must not get between the frames.
        ob_start(static function (string $text): string {
            fwrite(STDERR, $text);
            return '';
        }, 1);
    }

    /** @return array{array<string, mixed>, string}|null context and body of a request; null when it is time to end */
    public function next(): ?array
    {
        for (;;) {
            [$flags, $options, $payload, $bits] = $this->read();
            if (($flags & self::CONTROL) !== 0) {
                $control = json_decode($payload, true);
                if (isset($control['stop'])) {
                    return null;
                }
                if (isset($control['pid'])) {
                    $this->write(self::CONTROL, [], json_encode(['pid' => getmypid()]));
                }
                continue;
            }
            if ($options === [] || $bits !== 0) {
                // A word on a stream that is over.
                continue;
            }
            return [json_decode(substr($payload, 0, $options[0]), true), substr($payload, $options[0])];
        }
    }

    /** @param array<string, list<string>> $headers */
    public function respond(int $status, array $headers, string $body): void
    {
        $this->answer($status, $headers, $body, 0);
    }

    /**
     * @param array<string, list<string>> $headers
     * @param iterable<string> $pieces
     */
    public function stream(int $status, array $headers, iterable $pieces): void
    {
        foreach ($pieces as $piece) {
            $this->answer($status, $headers, $piece, self::STREAM);
            if ($this->stopped()) {
                break;
            }
        }
        $this->answer($status, $headers, '', 0);
    }

    /** The request has failed, the worker has not. */
    public function fail(string $why): void
    {
        $this->write(self::ERROR, [], $why);
    }

    private function answer(int $status, array $headers, string $body, int $bits): void
    {
        $head = json_encode(['status' => $status, 'headers' => (object) $headers], JSON_UNESCAPED_SLASHES | JSON_INVALID_UTF8_SUBSTITUTE);
        $this->write(self::JSON, [strlen($head)], $head . $body, $bits);
    }

    /** Whether the host has asked to end the stream. */
    private function stopped(): bool
    {
        $read = [$this->in];
        $none = null;
        if (stream_select($read, $none, $none, 0) !== 1) {
            return false;
        }
        [, , , $bits] = $this->read();
        return ($bits & self::STOP) !== 0;
    }

    /** @return array{int, list<int>, string, int} flags, options, payload, stream bits */
    private function read(): array
    {
        $header = $this->exactly(12);
        $words = ord($header[0]) & 0x0f;
        if (ord($header[0]) >> 4 !== 1 || unpack('V', $header, 6)[1] !== crc32(substr($header, 0, 6))) {
            throw new \RuntimeException('Not a Goridge frame: ' . bin2hex($header));
        }
        $options = $words > 3 ? array_values(unpack('V*', $this->exactly(4 * ($words - 3)))) : [];
        return [ord($header[1]), $options, $this->exactly(unpack('V', $header, 2)[1]), ord($header[10])];
    }

    private function write(int $flags, array $options, string $payload, int $bits = 0): void
    {
        $start = chr(0x10 | (3 + count($options))) . chr($flags) . pack('V', strlen($payload));
        $frame = $start . pack('V', crc32($start)) . chr($bits) . "\0" . pack('V*', ...$options) . $payload;
        for ($done = 0; $done < strlen($frame); $done += $written) {
            $written = fwrite($this->out, substr($frame, $done, 1 << 20));
            if ($written === false) {
                throw new \RuntimeException('The host has gone');
            }
        }
    }

    private function exactly(int $length): string
    {
        $bytes = '';
        while (strlen($bytes) < $length) {
            $more = fread($this->in, $length - strlen($bytes));
            if ($more === false || $more === '') {
                exit(0);
            }
            $bytes .= $more;
        }
        return $bytes;
    }
}
