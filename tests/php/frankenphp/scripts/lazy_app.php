<?php

// The code of an application.
