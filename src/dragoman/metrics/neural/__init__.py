"""Neural metrics as utilities: one a file; their libraries are optional extras."""
