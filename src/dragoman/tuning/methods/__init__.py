"""Methods of tuning, one a file: optimisers of what was decoded, and learners that sample for themselves."""
