"""Search with synchronous grammars: rules are matched with spans, and a chart is filled."""
