"""Models at run time: indexed arrays, memory-mapped from disk, that kernels query."""
