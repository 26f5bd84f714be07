"""Search with phrase tables: stack decoding, cube pruning, exhaustive search, hill-climbing."""
