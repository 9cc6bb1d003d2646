<?php

// A boot that leaves so many megabytes of small objects, and 0.5 ms of work for a request.

if (getenv('MEASURE_DESTRUCTORS') === '1') {
    // One class is enough for PHP to have to look at all objects in the end.
    class Ends
    {
        public function __destruct()
        {
        }
    }
}
$kept = [];
$megabytes = (int) (getenv('APP_MB') ?: ($_SERVER['APP_MB'] ?? 0));
while ($megabytes > 0 && memory_get_usage() < $megabytes << 20) {
    $object = new stdClass();
    $object->text = str_repeat('x', 200);
    $object->list = [1, 2, count($kept)];
    $kept[] = $object;
}

function work(): string
{
    $all = [];
    for ($i = 0; $i < 400; $i++) {
        $all[] = md5((string) $i);
    }
    usort($all, 'strcmp');
    return htmlspecialchars(implode($all));
}
