"""Numbers about numbers: significance, intervals, instability over runs, comparisons of systems."""
