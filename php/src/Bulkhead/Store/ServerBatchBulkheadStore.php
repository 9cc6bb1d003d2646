<?php

declare(strict_types=1);

namespace Fairlead\Bulkhead\Store;

use Rasuvaeff\Bulkhead\BatchBulkheadStore;

/** ServerBulkheadStore for versions of rasuvaeff/bulkhead that look at many bulkheads at once. */
final class ServerBatchBulkheadStore extends ServerBulkheadStore implements BatchBulkheadStore
{
}
