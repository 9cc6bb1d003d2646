<?php

/** An application that gets code it has not booted with: what it is asked for, it runs. Its own text names no destructor. */

declare(strict_types=1);

require __DIR__ . '/../../../../php/runtime/fork.php';

$socket = fairlead_fork((string) getenv('FAIRLEAD_SOCKET'), (string) getenv('FAIRLEAD_TOKEN'));
$length = unpack('V', fread($socket, 12))[1];
if ($length > 0) {
    parse_str((string) parse_url(fread($socket, $length), PHP_URL_QUERY), $query);
    eval($query['code']);
    fwrite($socket, pack('VCCvV', 2, 3, 1, 0, 1) . "\r\n");
}
