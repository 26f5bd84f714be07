"""Methods of tuning, one a file: optimisers of what was decoded, and learners that decode or sample for themselves."""
