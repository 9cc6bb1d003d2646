<?php

declare(strict_types=1);

// Now, while the folder is sure to be there: a deploy may take it away from under a running parent.
foreach (['Forker', 'HeadReader', 'QuickEnd'] as $fairleadClass) {
    if (!class_exists("Fairlead\\Worker\\Fork\\$fairleadClass", false)) {
        require __DIR__ . "/../src/Fork/$fairleadClass.php";
    }
}
unset($fairleadClass);

if (!function_exists('fairlead_fork')) {
    /**
     * For a process that was started with FAIRLEAD_ISOLATION=fork, in place of its first connect: it becomes the parent and
     * does not return; each of its children returns from here, with its connection, on which the hello has been said. A child
     * answers one request.
     *
     * @return resource
     * @throws RuntimeException when this PHP cannot fork, or Fairlead cannot be reached
     */
    function fairlead_fork(string $address, string $token)
    {
        return \Fairlead\Worker\Fork\Forker::serve($address, $token);
    }
}
