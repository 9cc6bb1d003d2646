<?php

throw new RuntimeException('no database');
