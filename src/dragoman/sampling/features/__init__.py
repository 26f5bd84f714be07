"""One global feature a file."""
