<?php

declare(strict_types=1);

namespace Fairlead\Bulkhead;

/** A Bulkhead, under the name that code written for rasuvaeff/bulkhead has for it. */
final class SharedBulkhead extends Bulkhead
{
}
