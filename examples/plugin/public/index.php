<?php
echo "open\n";
