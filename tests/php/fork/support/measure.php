<?php

declare(strict_types=1);

require __DIR__ . '/measure_boot.php';

[$address, $token] = [(string) getenv('FAIRLEAD_SOCKET'), (string) getenv('FAIRLEAD_TOKEN')];
if (getenv('MEASURE') !== 'loop') {
    require __DIR__ . '/../../../../php/runtime/fork.php';
    $socket = fairlead_fork($address, $token);
} else {
    gc_collect_cycles();
    $socket = stream_socket_client("unix://$address");
    $hello = serialize(['v' => 1, 'token' => $token, 'pid' => getmypid()]);
    fwrite($socket, pack('VCCvV', strlen($hello), 1, 0, 0, 0) . $hello);
}
while (strlen($head = (string) fread($socket, 65536)) >= 12 && ord($head[4]) === 2) {
    $body = "Content-Type: text/plain\r\n\r\n" . (str_ends_with($head, '/work') ? work() : 'hello');
    fwrite($socket, pack('VCCvV', strlen($body), 3, getenv('MEASURE') === 'loop' ? 3 : 1, 0, 1) . $body);
    if (getenv('MEASURE') !== 'loop') {
        break;
    }
}
