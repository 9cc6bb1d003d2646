<?php

return static function (int $n): void {
    echo "hello $n";
};
