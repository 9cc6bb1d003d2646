<?php

declare(strict_types=1);

namespace Parity;

/** Maps the leaves of a tree of uploads, which are arrays with an `error`. */
function tree(array $nodes, callable $leaf): array
{
    return array_map(
        static fn (array $node) => is_int($node['error'] ?? null) ? $leaf($node) : tree($node, $leaf),
        $nodes,
    );
}
