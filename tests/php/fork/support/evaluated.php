<?php

/**
 * An application whose files tell of no class that cleans up behind itself: the request brings it along.
 */

declare(strict_types=1);

require __DIR__ . '/../../../../php/runtime/fork.php';

$socket = fairlead_fork((string) getenv('FAIRLEAD_SOCKET'), (string) getenv('FAIRLEAD_TOKEN'));
['length' => $length, 'type' => $type] = unpack('Vlength/Ctype', (string) fread($socket, 12));
if ($type === 6) {
    exit(0);
}
parse_str((string) parse_url((string) fread($socket, $length), PHP_URL_QUERY), $query);
eval($query['code']);
$answer = "Content-Type: text/plain\r\n\r\nran";
fwrite($socket, pack('VCCvV', strlen($answer), 3, 1, 0, 1) . $answer);
