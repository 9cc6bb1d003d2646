<?php

require dirname(__DIR__) . '/classic.php';

Lab\serve();
