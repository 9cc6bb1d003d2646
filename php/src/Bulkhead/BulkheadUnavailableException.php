<?php

declare(strict_types=1);

namespace Fairlead\Bulkhead;

use RuntimeException;

/** The server that keeps the permits cannot be reached, and onUnavailable is closed. */
final class BulkheadUnavailableException extends RuntimeException
{
}
