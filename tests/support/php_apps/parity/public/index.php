<?php

require __DIR__ . '/../app/classic.php';

Parity\serve();
