"""Statistics of scores: significance, intervals, instability over runs, comparisons of systems."""
