<?php
// not yet
