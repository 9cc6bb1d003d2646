<?php

// What PHP itself makes of a form.

print_r(['get' => $_GET, 'post' => $_POST, 'cookie' => $_COOKIE, 'request' => $_REQUEST]);
print_r($_FILES);
